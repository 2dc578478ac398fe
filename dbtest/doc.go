// Package dbtest tests packages once and outbox on real databases: SQLite in the process, PostgreSQL and MariaDB as
// servers that the tests start and stop. It is a module of its own, so that their drivers do not come to those who embed
// ax.
//
// A server that is not installed is skipped loudly.
package dbtest
