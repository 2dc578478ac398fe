package once

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

// Schema returns the statements that create the table, for a migration tool: they fail if it exists.
func (g *Guard) Schema() []string {
	text, number, blob := "TEXT", "BIGINT", "BLOB"
	switch g.cfg.Dialect {
	case Postgres:
		text, blob = `TEXT COLLATE "C"`, "BYTEA"
	case MySQL:
		text, blob = "VARCHAR(200) CHARACTER SET ascii COLLATE ascii_bin", "MEDIUMBLOB"
	}
	return []string{
		fmt.Sprintf("CREATE TABLE %s (\n  id %s NOT NULL,\n  run INTEGER NOT NULL,\n  token %s NOT NULL,\n  done %s NOT NULL,\n  result %s,\n  entered %s NOT NULL,\n  PRIMARY KEY (id, run)\n)",
			g.cfg.Table, text, text, number, blob, number),
		fmt.Sprintf("CREATE INDEX %s_entered ON %s (entered)", strings.ReplaceAll(g.cfg.Table, ".", "_"), g.cfg.Table),
	}
}

// statements are what the guard asks for, in its dialect.
type statements struct{ lock, read, done, prune string }

func (g *Guard) statements() statements {
	table := g.cfg.Table
	s := statements{
		lock: "INSERT INTO " + table + " (id, run, token, done, entered) VALUES (?, ?, ?, 0, ?)" +
			" ON CONFLICT (id, run) DO UPDATE SET token = " + table + ".token",
		read:  "SELECT token, done, result FROM " + table + " WHERE id = ? AND run = ?",
		done:  "UPDATE " + table + " SET token = ?, done = ?, result = ? WHERE id = ? AND run = ?",
		prune: "DELETE FROM " + table + " WHERE (id, run) IN (SELECT id, run FROM " + table + " WHERE entered < ? ORDER BY entered LIMIT ?)",
	}
	switch g.cfg.Dialect {
	case Postgres:
		s.lock, s.read, s.done, s.prune = numbered(s.lock), numbered(s.read+" FOR UPDATE"), numbered(s.done), numbered(s.prune)
	case MySQL: // not INSERT IGNORE, which lets twins share a lock that each then wants alone
		s.lock = "INSERT INTO " + table + " (id, run, token, done, entered) VALUES (?, ?, ?, 0, ?) ON DUPLICATE KEY UPDATE token = token"
		s.read += " FOR UPDATE"
		s.prune = "DELETE FROM " + table + " WHERE entered < ? ORDER BY entered LIMIT ?"
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
