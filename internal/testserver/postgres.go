package testserver

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresPassword is the password of the user postgres, and of every user that a
// test makes with it.
const PostgresPassword = "s3cret-of-the-tests"

// Postgres starts Debian's postgresql in a cluster of its own, with more arguments,
// which win over its own ("-c", "fsync=on"). Without them it does not wait for the
// disk: what a killed server has committed is there all the same, as the machine goes
// on. Its user is postgres, with PostgresPassword.
func Postgres(t T, args ...string) *Server {
	t.Helper()
	return startPostgres(t, newCluster(t), args...)
}

// PostgresReplica starts one that is in recovery: it can be read, as a replica can. Its
// primary is gone.
func PostgresReplica(t T) *Server {
	t.Helper()
	data := newCluster(t)
	if err := os.WriteFile(filepath.Join(data, "standby.signal"), nil, 0o644); err != nil {
		t.Fatalf("postgresql: %v", err)
	}
	return startPostgres(t, data)
}

func startPostgres(t T, data string, args ...string) *Server {
	t.Helper()
	server := postgresProgram(t, "postgres")
	s := start(t, func(port int) *exec.Cmd {
		cmd := exec.Command(server, append([]string{
			"-D", data, "-p", fmt.Sprint(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
			"-c", "fsync=off", "-c", "max_connections=300", "-c", "log_min_messages=fatal",
		}, args...)...)
		asOrdinaryUser(cmd)
		return cmd
	}, func(addr string) error { return pingPostgres(PostgresURL(addr, "postgres")) })
	// What a killed server leaves behind ends by itself, soon after.
	s.again = func(output string) bool {
		return strings.Contains(output, "shared memory block") || strings.Contains(output, "postmaster.pid")
	}
	return s
}

// PostgresURL is the URL of a database at HOST:PORT for the user postgres.
func PostgresURL(addr, database string) string {
	return "postgres://postgres:" + PostgresPassword + "@" + addr + "/" + database + "?sslmode=disable"
}

// postgresProgram finds what Debian keeps out of PATH.
func postgresProgram(t T, name string) string {
	t.Helper()
	mayRun(t, name)
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		missing(t, "postgresql")
	}
	return found[len(found)-1]
}

// newCluster makes an empty cluster in a folder of its user's own.
func newCluster(t T) string {
	t.Helper()
	dir := t.TempDir()
	secret := filepath.Join(dir, "password")
	data := filepath.Join(dir, "data")
	err := os.WriteFile(secret, []byte(PostgresPassword), 0o644)
	if err == nil {
		err = os.Mkdir(data, 0o700)
	}
	if err == nil {
		err = giveToOrdinaryUser(dir, data)
	}
	if err != nil {
		t.Fatalf("postgresql: %v", err)
	}
	cmd := exec.Command(postgresProgram(t, "initdb"), "-D", data, "-U", "postgres", "--pwfile", secret,
		"--auth=scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	cmd.Dir = dir
	asOrdinaryUser(cmd)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v; it printed %.4000q", err, output)
	}
	return data
}

func pingPostgres(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.Ping(ctx)
}

// PgBouncer starts Debian's pgbouncer in transaction mode in front of a server.
func PgBouncer(t T, postgres *Server) *Server {
	t.Helper()
	bouncer, dir := program(t, "pgbouncer"), t.TempDir()
	host, port, err := net.SplitHostPort(postgres.Addr)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "users.txt"), fmt.Appendf(nil, "%q %q\n", "postgres", PostgresPassword), 0o644)
	}
	if err == nil {
		err = giveToOrdinaryUser(dir)
	}
	if err != nil {
		t.Fatalf("pgbouncer: %v", err)
	}
	return start(t, func(own int) *exec.Cmd {
		config := filepath.Join(dir, fmt.Sprintf("%d.ini", own))
		text := fmt.Sprintf(`[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 20
`, host, port, own, filepath.Join(dir, "users.txt"))
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatalf("pgbouncer: %v", err)
		}
		cmd := exec.Command(bouncer, "-q", config)
		asOrdinaryUser(cmd)
		return cmd
	}, func(addr string) error {
		conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
		if err == nil {
			conn.Close()
		}
		return err
	})
}
