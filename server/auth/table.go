package auth

import (
	"context"
	"crypto/x509"
	"errors"
	"reflect"
	"time"

	"golang.org/x/time/rate"
)

// entry is a token in use.
type entry struct {
	row
	caller  Caller
	limiter *rate.Limiter

	// life ends when the token is revoked, changed or has expired, and with it
	// the requests that run on it.
	life context.Context
	end  context.CancelCauseFunc
}

// table is all tokens of one reading of the file. It never changes; a new
// reading makes a new table.
type table struct {
	source []byte
	byName map[string]*entry
	byHash map[hash]*entry
	byCert map[string]*entry
}

// newTable keeps the entries of the old table whose rows are the same, and the
// limiters of those that have the same name: editing a token does not restart its
// rate.
func newTable(source []byte, rows []row, old *table, limit limit) *table {
	t := &table{
		source: source,
		byName: make(map[string]*entry, len(rows)),
		byHash: make(map[hash]*entry, len(rows)),
		byCert: map[string]*entry{},
	}
	for _, r := range rows {
		e := old.entryFor(r, limit)
		t.byName[r.Name] = e
		if r.Cert != "" {
			t.byCert[r.Cert] = e
		} else {
			t.byHash[r.Hash] = e
		}
	}
	return t
}

// entryFor returns the entry of the row: the old one if nothing has changed.
func (t *table) entryFor(r row, limit limit) *entry {
	old := t.byName[r.Name]
	if old != nil && old.life.Err() == nil && reflect.DeepEqual(old.row, r) {
		return old
	}
	e := &entry{
		row:    r,
		caller: Caller{Name: r.Name, Roles: r.Roles, Holders: r.Holders, Resources: r.Resources},
	}
	e.life, e.end = context.WithCancelCause(context.Background())
	if old != nil {
		e.limiter = old.limiter
	} else {
		e.limiter = limit.limiter()
	}
	return e
}

var (
	errRevoked = errors.New("the token was revoked or changed")
	errExpired = errors.New("the token has expired")
)

// endMissing ends the entries that the newer table lacks.
func (t *table) endMissing(newer *table) {
	for name, e := range t.byName {
		if newer.byName[name] != e {
			e.end(errRevoked)
		}
	}
}

func (t *table) endExpired(now time.Time) {
	for _, e := range t.byName {
		if e.Expired(now) {
			e.end(errExpired)
		}
	}
}

// ofCertificate returns the entry of a certificate, or nil unless there is exactly
// one.
func (t *table) ofCertificate(cert *x509.Certificate) *entry {
	names := append([]string{cert.Subject.CommonName}, cert.DNSNames...)
	names = append(names, cert.EmailAddresses...)
	for _, u := range cert.URIs {
		names = append(names, u.String())
	}
	var found *entry
	for _, n := range names {
		e := t.byCert[n]
		switch {
		case e == nil || e == found:
		case found != nil:
			return nil
		default:
			found = e
		}
	}
	return found
}
