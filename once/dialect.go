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

// Schema returns the statements that create the table and its index, for a migration tool: they fail if it exists.
func (g *Guard) Schema() []string {
	table := g.cfg.Table
	id, text, number, blob := "TEXT", "TEXT", "BIGINT", "BLOB"
	switch g.cfg.Dialect {
	case Postgres: // by bytes, whatever the order of the database: tokens are compared as text
		id, text, blob = `TEXT COLLATE "C"`, `TEXT COLLATE "C"`, "BYTEA"
	case MySQL:
		id, text, blob = "VARCHAR(400) CHARACTER SET ascii COLLATE ascii_bin", "CHAR(40) CHARACTER SET ascii COLLATE ascii_bin", "MEDIUMBLOB"
	}
	schema, name, found := strings.Cut(table, ".")
	if !found {
		schema, name = "", table
	}
	index, on := name+"_changed", table
	if found && g.cfg.Dialect == SQLite { // the schema stands before the index there
		index, on = schema+"."+index, name
	}
	return []string{
		fmt.Sprintf("CREATE TABLE %s (\n  id %s NOT NULL PRIMARY KEY,\n  run INTEGER NOT NULL,\n  token %s NOT NULL,\n  done %s NOT NULL,\n  result %s,\n  changed %s NOT NULL\n)",
			table, id, text, number, blob, number),
		fmt.Sprintf("CREATE INDEX %s ON %s (changed)", index, on),
	}
}

// statements are what the guard asks for, in its dialect.
type statements struct{ lock, read, write, prune string }

func (g *Guard) statements() statements {
	table := g.cfg.Table
	insert := "INSERT INTO " + table
	s := statements{ // an update that changes nothing takes the row until the transaction ends
		lock:  insert + " AS held (id, run, token, done, changed) VALUES (?, ?, ?, 0, ?) ON CONFLICT (id) DO UPDATE SET token = held.token",
		read:  "SELECT run, token, done, result FROM " + table + " WHERE id = ?",
		write: "UPDATE " + table + " SET run = ?, token = ?, done = ?, result = ?, changed = ? WHERE id = ?",
		prune: "DELETE FROM " + table + " WHERE id IN (SELECT id FROM " + table + " WHERE changed < ? ORDER BY changed LIMIT ?)",
	}
	switch g.cfg.Dialect {
	case Postgres: // the outer condition is looked at again if somebody writes the row meanwhile; the inner one is not
		s.lock, s.read, s.write = numbered(s.lock), numbered(s.read+" FOR UPDATE"), numbered(s.write)
		s.prune = "DELETE FROM " + table + " WHERE changed < $1 AND id IN (SELECT id FROM " + table + " WHERE changed < $1 ORDER BY changed LIMIT $2)"
	case MySQL: // not INSERT IGNORE, which lets twins share a lock that each then wants alone
		s.lock = insert + " (id, run, token, done, changed) VALUES (?, ?, ?, 0, ?) ON DUPLICATE KEY UPDATE token = token"
		s.read += " FOR UPDATE"
		s.prune = "DELETE FROM " + table + " WHERE changed < ? ORDER BY changed LIMIT ?"
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
