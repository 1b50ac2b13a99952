package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/leasehold/leasehold/open"
)

var bareSchema = []string{
	`PRAGMA journal_mode = wal`,
	`PRAGMA synchronous = full`,
	`CREATE TABLE IF NOT EXISTS bare (resource TEXT PRIMARY KEY, id TEXT NOT NULL, holder TEXT NOT NULL, ends INTEGER NOT NULL) WITHOUT ROWID`,
}

// bareSQLite are connections to one file, one for each worker, as processes have.
type bareSQLite struct {
	file  string
	mu    sync.Mutex
	conns map[int]*sqlite.Conn
}

func (b *bareSQLite) conn(worker int) (*sqlite.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if conn := b.conns[worker]; conn != nil {
		return conn, nil
	}
	conn, err := sqlite.OpenConn(b.file)
	if err != nil {
		return nil, err
	}
	b.conns[worker] = conn
	conn.SetBusyTimeout(10 * time.Second)
	for _, statement := range bareSchema {
		if err := sqlitex.ExecuteTransient(conn, statement, nil); err != nil {
			return nil, err
		}
	}
	return conn, nil
}

func (b *bareSQLite) close() {
	for _, conn := range b.conns {
		_ = conn.Close()
	}
}

// change runs a statement that must change one row, in a transaction.
func change(conn *sqlite.Conn, statement string, args ...any) (err error) {
	end, err := sqlitex.ImmediateTransaction(conn)
	if err != nil {
		return err
	}
	defer end(&err)
	if err := sqlitex.Execute(conn, statement, &sqlitex.ExecOptions{Args: args}); err != nil {
		return err
	}
	if conn.Changes() != 1 {
		return errors.New("nothing was changed")
	}
	return nil
}

// bareStatements is the contender that acquires and releases by two statements in
// transactions.
func bareStatements(s *scope) contender {
	b := &bareSQLite{file: filepath.Join(s.TempDir(), "bare.db"), conns: map[int]*sqlite.Conn{}}
	s.Cleanup(b.close)
	return contender{"two statements in transactions", func(ctx context.Context, worker int) error {
		conn, err := b.conn(worker)
		if err != nil {
			return err
		}
		conn.SetInterrupt(ctx.Done())
		id, now := uuid.NewString(), time.Now()
		if err := change(conn, `INSERT INTO bare VALUES (?, ?, 'bench', ?) ON CONFLICT (resource) DO UPDATE
			SET id = excluded.id, holder = excluded.holder, ends = excluded.ends WHERE ends <= ?`,
			resource(worker), id, now.Add(ttl).UnixMilli(), now.UnixMilli()); err != nil {
			return err
		}
		return change(conn, `DELETE FROM bare WHERE resource = ? AND id = ?`, resource(worker), id)
	}}
}

func sharedSuite(ctx context.Context, s *scope) ([]contender, error) {
	bare := bareStatements(s)
	ours, err := onStore(ctx, s, "store", open.SQLiteURL(filepath.Join(s.TempDir(), "shared.db"))+"?mode=shared", nil)
	return []contender{bare, ours}, err
}

// sqliteSuite has the embedded engine: on a file, behind the built program as a server,
// and in memory.
func sqliteSuite(ctx context.Context, s *scope) ([]contender, error) {
	all := []contender{bareStatements(s)}
	server, err := startServer(s)
	if err != nil {
		return nil, err
	}
	for _, c := range []struct{ name, url string }{
		{"file", open.SQLiteURL(filepath.Join(s.TempDir(), "leases.db"))},
		{"file, through a server", server},
		{"memory", "memory:"},
	} {
		ours, err := onStore(ctx, s, c.name, c.url, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, ours)
	}
	return all, nil
}

// listening finds the address that serve prints.
var listening = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// startServer returns the URL of the built program, which serves a file.
func startServer(s *scope) (string, error) {
	cmd := exec.Command(s.leasehold, "serve", "--listen", "127.0.0.1:0", "--blob-listen", "off", "--data", s.TempDir(), "--log-level", "error")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start leasehold: %w", err)
	}
	s.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	url := ""
	for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
		url = listening.FindString(lines.Text())
	}
	go io.Copy(io.Discard, out)
	return url, nil
}
