package dbtest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/axsched/ax/once"
	"github.com/axsched/ax/outbox"
)

// database is one kind of database.
type database struct {
	name   string
	once   once.Dialect
	outbox outbox.Dialect
	open   func(t *testing.T) (*sql.DB, string) // an empty database, and how another process opens it
	driver string
}

var databases = []database{
	{"SQLite", once.SQLite, outbox.SQLite, openSQLite, "sqlite"},
	{"PostgreSQL", once.Postgres, outbox.Postgres, openPostgres, "pgx"},
	{"MariaDB", once.MySQL, outbox.MySQL, openMariaDB, "mysql"},
}

// each runs a test on every kind of database, with an empty one.
func each(t *testing.T, f func(t *testing.T, d database, db *sql.DB)) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			db, _ := d.open(t)
			f(t, d, db)
		})
	}
}

// TestMain stops the servers at the end, however it ends.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	code := m.Run()
	for _, stop := range servers.stops {
		stop()
	}
	os.Exit(code)
}

// servers are the servers that run, each started by the first test that wants it.
var servers struct {
	mu       sync.Mutex
	postgres *server
	mariadb  *server
	stops    []func()
	n        int // of databases made so far
}

// server is a database server of our own, or why there is none.
type server struct {
	dsn  func(database string) string
	skip string
}

// number returns a name for a new database.
func number() string {
	servers.n++
	return fmt.Sprintf("t%d", servers.n)
}

func openSQLite(t *testing.T) (*sql.DB, string) {
	dsn := "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(20000)&_pragma=synchronous(NORMAL)&_txlock=immediate"
	return connect(t, "sqlite", dsn), dsn
}

func openPostgres(t *testing.T) (*sql.DB, string) {
	return openServer(t, "pgx", "postgres", &servers.postgres, startPostgres)
}

func openMariaDB(t *testing.T) (*sql.DB, string) {
	return openServer(t, "mysql", "mysql", &servers.mariadb, startMariaDB)
}

// openServer makes a database on a server, which it starts if it does not run.
func openServer(t *testing.T, driver, admin string, s **server, start func() (*server, error)) (*sql.DB, string) {
	t.Helper()
	servers.mu.Lock()
	if *s == nil {
		var err error
		if *s, err = start(); err != nil {
			servers.mu.Unlock()
			t.Fatal(err)
		}
	}
	name := number()
	servers.mu.Unlock()
	if (*s).skip != "" {
		t.Skip("SKIPPED: " + (*s).skip)
	}
	root := connect(t, driver, (*s).dsn(admin))
	if _, err := root.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return connect(t, driver, (*s).dsn(name)), (*s).dsn(name)
}

func connect(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(24)
	db.SetMaxIdleConns(24)
	t.Cleanup(func() { db.Close() })
	return db
}

// unprivileged makes a command run as a user that a server accepts to be: not root. It gives that user the directory.
func unprivileged(cmd *exec.Cmd, name, dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return err
		}
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("user %s has no numbers", u.Username)
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, gid)
	})
}

// command is a command in a process group of its own that dies with us, and in a directory that its user may enter.
func command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Dir = "/"
	return cmd
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// tempDir makes a directory that others may enter.
func tempDir(what string) (string, error) {
	dir, err := os.MkdirTemp("", what)
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// launch starts a server and waits until it answers. Pdeathsig goes by the thread that started it, so that thread is
// kept.
func launch(cmd *exec.Cmd, dir, driver, dsn string) error {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	started, ended := make(chan error, 1), make(chan error, 1) // one value each
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT) // PostgreSQL: at once
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			_ = cmd.Process.Kill()
		}
		_ = cmd.Process.Kill()
		os.RemoveAll(dir)
	}
	servers.stops = append(servers.stops, stop)
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	giveUp := time.After(60 * time.Second)
	for {
		if err = db.PingContext(context.Background()); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case died := <-ended:
			ended <- died
			return fmt.Errorf("%s ended: %v\n%s", cmd.Path, died, tail(output.String()))
		case <-giveUp:
			return fmt.Errorf("%s does not answer: %w\n%s", cmd.Path, err, tail(output.String()))
		}
	}
}

func tail(s string) string { return s[max(0, len(s)-2000):] }

func startPostgres() (*server, error) {
	bin := ""
	if p, err := exec.LookPath("initdb"); err == nil {
		bin = filepath.Dir(p)
	} else if all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(all) > 0 {
		bin = filepath.Dir(all[len(all)-1])
	} else {
		return &server{skip: "no initdb: PostgreSQL is not installed"}, nil
	}
	dir, err := tempDir("ax-postgres-")
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	init := command(filepath.Join(bin, "initdb"), "-D", data, "-U", "ax", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
	if err := unprivileged(init, "postgres", dir); err != nil {
		return nil, err
	}
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, tail(string(out)))
	}
	cmd := command(filepath.Join(bin, "postgres"), "-D", data, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-k", dir, "-c", "max_connections=200", "-c", "fsync=off")
	if err := unprivileged(cmd, "postgres", dir); err != nil {
		return nil, err
	}
	s := &server{dsn: func(name string) string {
		return fmt.Sprintf("postgres://ax@127.0.0.1:%d/%s?sslmode=disable", port, name)
	}}
	return s, launch(cmd, dir, "pgx", s.dsn("postgres"))
}

func startMariaDB() (*server, error) {
	daemon, err := exec.LookPath("mariadbd")
	if err != nil {
		for _, p := range []string{"/usr/sbin/mariadbd", "/usr/sbin/mysqld"} {
			if _, err := os.Stat(p); err == nil {
				daemon = p
			}
		}
	}
	install, err := exec.LookPath("mariadb-install-db")
	if daemon == "" || err != nil {
		return &server{skip: "no mariadbd: MariaDB is not installed"}, nil
	}
	dir, err := tempDir("ax-mariadb-")
	if err != nil {
		return nil, err
	}
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "s")
	if err := os.Mkdir(data, 0o755); err != nil {
		return nil, err
	}
	init := command(install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	if err := unprivileged(init, "mysql", dir); err != nil {
		return nil, err
	}
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", install, err, tail(string(out)))
	}
	cmd := command(daemon, "--no-defaults", "--datadir="+data, "--socket="+socket, "--skip-networking", "--pid-file="+filepath.Join(dir, "pid"),
		"--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", "--max-connections=200")
	if err := unprivileged(cmd, "mysql", dir); err != nil {
		return nil, err
	}
	s := &server{dsn: func(name string) string { return fmt.Sprintf("root@unix(%s)/%s", socket, name) }}
	return s, launch(cmd, dir, "mysql", s.dsn("mysql"))
}

// do executes statements that must succeed.
func do(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", strings.Join(strings.Fields(s), " "), err)
		}
	}
}

// count returns the one number that a query asks for.
func count(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}
