package open

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/store/sqlite/shared"
)

// Movable is a store whose leases can be moved, or that leases can be moved to.
type Movable interface {
	leasehold.Store
	move.Store
}

// immovable says why the leases of a kind of store cannot be moved.
var immovable = map[string]string{
	powers.KindServer:  "a server gives nobody the ids of its leases; name the store behind it",
	powers.KindMemory:  "its leases are gone when its process ends",
	powers.KindRedis:   "it cannot be closed in one step with all its leases, which are in many hash slots",
	powers.KindAzblob:  "its leases are Azure's own, and cannot be given out with the same ids and times",
	powers.KindSurreal: "it cannot be closed in one step: a transaction under way does not notice a mark that it has only read",
	powers.KindCosmos:  "it cannot be closed in one step with all its leases, which are in many partitions",
}

// Move opens the store at the URL as one side of a move. A database file is opened in
// shared mode, so that a server which has it is told apart, and processes that share it
// are not.
func Move(ctx context.Context, rawURL string, o *Options) (Movable, error) {
	if o == nil {
		o = &Options{}
	}
	u, d, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	if why := immovable[d.kind]; why != "" {
		return nil, &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: "move", Store: d.kind, Cause: errors.New(why)}
	}
	if u.scheme == "sqlite" {
		return u.moveSQLite(ctx, *o)
	}
	store, err := d.open(ctx, u, *o)
	if err != nil {
		return nil, err
	}
	return store.(Movable), nil // every kind that is not immovable
}

func (u storeURL) moveSQLite(ctx context.Context, o Options) (Movable, error) {
	file, err := u.file()
	if err != nil {
		return nil, err
	}
	durability, err := u.durability()
	if err != nil {
		return nil, err
	}
	// A nil *shared.Store in the interface would not be nil.
	store, err := shared.Open(ctx, file, &shared.Options{Durability: durability, MustExist: o.MustExist, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	return store, nil
}

// Shown is the URL as others may read it, in a terminal, a log, or the mark of a move:
// with the full name of a file, without a password, and without the parameters that
// name files with secrets, since people write the secret there. It is "" for a wrong
// URL.
func Shown(rawURL string) string {
	u, _, err := parse(rawURL)
	if err != nil {
		return ""
	}
	query := ""
	for name := range u.params {
		if strings.HasSuffix(name, "file") || strings.Contains(u.query, "@") {
			u.params.Del(name)
		}
	}
	if len(u.params) > 0 {
		query = "?" + u.params.Encode()
	}
	if u.scheme == "sqlite" {
		file, err := u.file()
		if err == nil {
			file, err = filepath.Abs(file)
		}
		if err != nil {
			return ""
		}
		return SQLiteURL(file) + query
	}
	p, err := u.place()
	if err != nil {
		return u.scheme + ":"
	}
	authority := strings.Join(p.hosts, ",")
	if p.user != "" {
		authority = url.User(p.user).String() + "@" + authority
	}
	path := ""
	for _, segment := range p.path {
		path += "/" + url.PathEscape(segment)
	}
	return u.scheme + "://" + authority + path + query
}
