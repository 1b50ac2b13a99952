package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/sqltx"
)

// Store keeps leases in PostgreSQL. It has every power but kept places, and the
// order of its queue holds per process.
type Store struct {
	*sqltx.Store
	db *db
}

// openFor is how long New and Open try.
const openFor = 4 * time.Second

// New returns a store on a pool, which stays its owner's: Close does not close it.
// It makes the tables if they are missing, and tries whether the user may use them.
func New(ctx context.Context, pool *pgxpool.Pool, o *Options) (*Store, error) {
	full := o.orDefaults()
	if full.URL != "" || full.Config != nil {
		return nil, invalid("URL", "is for Open; the pool has its own")
	}
	return open(ctx, pool, full, false)
}

// Open connects, and does what New does. Close closes the connections.
func Open(ctx context.Context, o *Options) (*Store, error) {
	full := o.orDefaults()
	config, err := full.poolConfig()
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, openFailure(err)
	}
	s, err := open(ctx, pool, full, true)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

func open(ctx context.Context, pool *pgxpool.Pool, o Options, owned bool) (*Store, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	d := &db{pool: pool, sql: newStatements(o.Schema), channel: channelOf(o.Schema), opts: o, owned: owned, mode: pgx.QueryExecModeExec}
	ctx, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	if err := d.prepare(ctx); err != nil {
		return nil, err
	}
	return &Store{Store: sqltx.New(d, &sqltx.Options{Limit: o.Timeout, Logger: o.Logger}), db: d}, nil
}

// prepare looks at the server, makes the tables, and tries the user's rights.
func (d *db) prepare(ctx context.Context) error {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return openFailure(err)
	}
	defer conn.Release()
	if err := d.inspect(ctx, conn.Conn()); err != nil {
		return openFailure(err)
	}
	if err := d.migrate(ctx, conn.Conn()); err != nil {
		return openFailure(err)
	}
	if err := d.checkRights(ctx, conn.Conn()); err != nil {
		return openFailure(err)
	}
	return nil
}

// inspect refuses a server that cannot keep leases, and finds out whether there is a
// pooler in between.
func (d *db) inspect(ctx context.Context, conn *pgx.Conn) error {
	var version, pid int
	var encoding, commit, readOnly string
	var replica bool
	err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
		current_setting('synchronous_commit'), current_setting('transaction_read_only'), pg_is_in_recovery(), pg_backend_pid()`,
		pgx.QueryExecModeExec).Scan(&version, &encoding, &commit, &readOnly, &replica, &pid)
	if err != nil {
		return err
	}
	switch {
	case version < 130000:
		return fmt.Errorf("the server has version %d; want 13 or later", version/10000)
	case encoding != "UTF8":
		return fmt.Errorf("the database has the encoding %s; want one made with UTF8", encoding)
	case replica:
		return errors.New("the server is a replica; connect to the primary")
	case readOnly == "on":
		return errors.New("the user or the database is read-only (default_transaction_read_only); want one that may write")
	case commit == "off":
		return errors.New("synchronous_commit is off, so a crash can lose leases that were granted; set it to on for this user")
	}
	return d.choosePath(conn, pid)
}

// choosePath decides how statements are sent and where to listen. A pooler shows
// because the process that answers is not the one that was connected to.
func (d *db) choosePath(conn *pgx.Conn, pid int) (err error) {
	own := conn.Config()
	if d.listen, err = d.opts.listenConfig(own.Password); err != nil {
		return err
	}
	if int(conn.PgConn().PID()) != pid {
		return nil // as unnamed statements; LISTEN only where Options says
	}
	if m := own.DefaultQueryExecMode; m == pgx.QueryExecModeCacheStatement || m == pgx.QueryExecModeCacheDescribe {
		d.mode = m // else its owner knows why not
	}
	if d.listen == nil {
		d.listen = own
	}
	return nil
}

// checkRights tries whether the user may do what operations do.
func (d *db) checkRights(ctx context.Context, conn *pgx.Conn) error {
	var lacks []string
	err := conn.QueryRow(ctx, d.sql["rights"], pgx.QueryExecModeExec).Scan(&lacks)
	if err == nil && len(lacks) > 0 {
		err = fmt.Errorf("the user has no right to %s; docs/stores/postgres.md lists the rights", strings.Join(lacks, ", "))
	}
	return err
}

// openFailure is the error of New and Open.
func openFailure(err error) error {
	if errors.Is(err, leasehold.ErrInvalid) {
		return err
	}
	full := *unavailable(err)
	full.Op = "open"
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		full.Cause = &described{"postgres: the server's certificate is not trusted; name the authority that signed it (ca= in the URL of a store, sslrootcert= of pgx)", err}
	}
	return &full
}
