package outbox

import (
	"fmt"
	"strings"
)

// Dialect is the SQL that a database speaks.
type Dialect uint8

// The dialects, by the servers that they were tested with.
const (
	SQLite   Dialect = iota + 1 // 3.35 or later
	Postgres                    // PostgreSQL 12 or later
	MySQL                       // MariaDB 10.6 or later, MySQL 8
)

// String names the dialect.
func (d Dialect) String() string {
	switch d {
	case SQLite:
		return "SQLite"
	case Postgres:
		return "Postgres"
	case MySQL:
		return "MySQL"
	}
	return fmt.Sprintf("Dialect(%d)", uint8(d))
}

// Schema returns the statements that create the table and its index, for a migration tool: they fail if it exists.
func (b *Box) Schema() []string {
	table := b.cfg.Table
	seq, text, blob := "INTEGER PRIMARY KEY AUTOINCREMENT", "TEXT", "BLOB"
	switch b.cfg.Dialect {
	case Postgres:
		seq, blob = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "BYTEA"
	case MySQL: // the reason may hold any character, whatever the database's own set
		seq, text, blob = "BIGINT AUTO_INCREMENT PRIMARY KEY", "TEXT CHARACTER SET utf8mb4", "MEDIUMBLOB"
	}
	schema, name, found := strings.Cut(table, ".")
	if !found {
		schema, name = "", table
	}
	index, on := name+"_due", table
	if found && b.cfg.Dialect == SQLite { // the schema stands before the index there
		index, on = schema+"."+index, name
	}
	return []string{
		fmt.Sprintf("CREATE TABLE %s (\n  seq %s,\n  id VARCHAR(200) NOT NULL,\n  body %s NOT NULL,\n  made BIGINT NOT NULL,\n  tried BIGINT NOT NULL,\n  due BIGINT NOT NULL,\n  aside INTEGER NOT NULL,\n  tries INTEGER NOT NULL,\n  reason %s NOT NULL\n)",
			table, seq, blob, text),
		fmt.Sprintf("CREATE INDEX %s ON %s (aside, due)", index, on),
	}
}

// statements are what the box asks for, in its dialect.
type statements struct{ insert, ready, take, back, aside, list, retry, drop, remove, count string }

func (b *Box) statements() statements {
	table := b.cfg.Table
	s := statements{
		insert: "INSERT INTO " + table + " (id, body, made, tried, due, aside, tries, reason) VALUES (?, ?, ?, 0, ?, 0, 0, '')",
		ready:  "SELECT seq, id, body, made, tried, due, tries FROM " + table + " WHERE aside = 0 AND due <= ? ORDER BY due, seq LIMIT ?",
		take:   "UPDATE " + table + " SET due = ?, tried = ?, tries = tries + 1 WHERE seq = ? AND due = ? AND aside = 0",
		back:   "UPDATE " + table + " SET due = ?, tried = ?, reason = ? WHERE seq = ? AND due = ?",
		aside:  "UPDATE " + table + " SET aside = 1, reason = ? WHERE seq = ? AND due = ?",
		list:   "SELECT seq, id, body, made, tries, reason FROM " + table + " WHERE aside = 1 AND seq > ? ORDER BY seq LIMIT ?",
		retry:  "UPDATE " + table + " SET aside = 0, due = 0, tried = 0, reason = '' WHERE seq = ? AND aside = 1",
		drop:   "DELETE FROM " + table + " WHERE seq = ? AND aside = 1",
		remove: "DELETE FROM " + table + " WHERE seq IN (",
		count:  "SELECT COUNT(*), COALESCE(SUM(aside), 0), COALESCE(MIN(made), 0) FROM " + table,
	}
	if b.cfg.Dialect == Postgres {
		for _, p := range []*string{&s.insert, &s.ready, &s.take, &s.back, &s.aside, &s.list, &s.retry, &s.drop} {
			*p = numbered(*p)
		}
	}
	return s
}

// removal returns the statement that deletes so many rows.
func (b *Box) removal(n int) string {
	s := b.sql.remove + strings.Repeat("?, ", n-1) + "?)"
	if b.cfg.Dialect == Postgres {
		s = numbered(s)
	}
	return s
}

// numbered turns ? into $1, $2, ...
func numbered(s string) string {
	var b strings.Builder
	n := 0
	for _, c := range s {
		if c != '?' {
			b.WriteRune(c)
			continue
		}
		n++
		fmt.Fprintf(&b, "$%d", n)
	}
	return b.String()
}
