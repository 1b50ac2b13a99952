package dbfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"zombiezen.com/go/sqlite"
)

// bindRow binds the row to sql/put_lease.sql.
func bindRow(s *sqlite.Stmt, r *machine.Row) {
	s.BindText(1, r.Resource)
	s.BindText(2, r.Holder)
	s.BindBytes(3, r.ID[:])
	s.BindInt64(4, int64(r.Token))
	s.BindInt64(5, int64(r.State))
	s.BindInt64(6, int64(r.TTL))
	s.BindInt64(7, int64(r.Ends))
	s.BindInt64(8, r.Acquired)
	s.BindInt64(9, r.Renewed)
	s.BindInt64(10, int64(r.Renewals))
	s.BindInt64(11, int64(r.MaxRenewals))
	bindPairs(s, 12, r.Metadata)
	if r.Former.IsZero() {
		s.BindNull(13)
	} else {
		s.BindBytes(13, r.Former[:])
	}
	s.BindBool(14, r.Handed)
	s.BindBool(15, r.Scoped)
	BindText(s, 16, r.Caller)
	bindList(s, 17, r.Claims)
	bindList(s, 18, r.Notes)
}

// bindList binds a JSON array; none is null. A plain row has neither list and
// allocates nothing here.
func bindList[T any](s *sqlite.Stmt, param int, list []T) {
	if len(list) == 0 {
		s.BindNull(param)
		return
	}
	s.BindText(param, encode(list))
}

// RowReader reads rows with the columns of sql/all_leases.sql. Holders, callers and
// metadata repeat a lot among a million rows, so equal ones share memory. The zero
// RowReader reads without sharing.
type RowReader struct {
	names map[string]string
	pairs map[string]map[string]string
	buf   []byte
}

// maxShared bounds what a RowReader keeps; with more, values do not repeat.
const maxShared = 1 << 16

func newSharingReader() *RowReader {
	return &RowReader{names: map[string]string{}, pairs: map[string]map[string]string{}}
}

// Row reads the current row of a result.
func (d *RowReader) Row(s *sqlite.Stmt) (machine.Row, error) {
	r := machine.Row{
		Resource:    s.ColumnText(0),
		Holder:      d.name(s, 1),
		Token:       uint64(s.ColumnInt64(3)),
		State:       leasehold.State(s.ColumnInt64(4)),
		TTL:         time.Duration(s.ColumnInt64(5)),
		Ends:        machine.Time(s.ColumnInt64(6)),
		Acquired:    s.ColumnInt64(7),
		Renewed:     s.ColumnInt64(8),
		Renewals:    s.ColumnInt32(9),
		MaxRenewals: s.ColumnInt32(10),
		Handed:      s.ColumnBool(13),
		Scoped:      s.ColumnBool(14),
		Caller:      d.name(s, 15),
	}
	if r.State > leasehold.StateBroken {
		return r, fmt.Errorf("the lease on %q has a state that is none: %w", r.Resource, ErrMalformed)
	}
	if s.ColumnLen(2) != len(r.ID) {
		return r, fmt.Errorf("the lease on %q has an id that is none: %w", r.Resource, ErrMalformed)
	}
	s.ColumnBytes(2, r.ID[:])
	s.ColumnBytes(12, r.Former[:])
	var err error
	if r.Metadata, err = d.metadata(s, 11); err != nil {
		return r, err
	}
	if r.Claims, err = decodeList[leasehold.Claim](d, s, 16); err != nil {
		return r, fmt.Errorf("the claims of the lease %q: %w", r.Resource, err)
	}
	if r.Notes, err = decodeList[leasehold.Note](d, s, 17); err != nil {
		return r, fmt.Errorf("the notes of the lease on %q: %w", r.Resource, err)
	}
	return r, nil
}

// decodeList reads a column with a JSON array. Null is nil, and an empty array is not
// what this program would have written.
func decodeList[T any](d *RowReader, s *sqlite.Stmt, col int) (list []T, err error) {
	if s.ColumnIsNull(col) {
		return nil, nil
	}
	if err := json.Unmarshal(d.bytes(s, col), &list); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: nothing is in the list", ErrMalformed)
	}
	return list, nil
}

func (d *RowReader) name(s *sqlite.Stmt, col int) string {
	b := d.bytes(s, col)
	if n, ok := d.names[string(b)]; ok {
		return n
	}
	n := string(b)
	if d.names != nil && len(d.names) < maxShared {
		d.names[n] = n
	}
	return n
}

func (d *RowReader) metadata(s *sqlite.Stmt, col int) (map[string]string, error) {
	b := d.bytes(s, col)
	if len(b) == 0 {
		return nil, nil
	}
	if m, ok := d.pairs[string(b)]; ok {
		return m, nil
	}
	m, err := decodePairs(b)
	if err == nil && d.pairs != nil && len(d.pairs) < maxShared {
		d.pairs[string(b)] = m
	}
	return m, err
}

// bytes reads a column into the reader's buffer, which the next call reuses.
func (d *RowReader) bytes(s *sqlite.Stmt, col int) []byte {
	n := s.ColumnLen(col)
	if n > len(d.buf) {
		d.buf = make([]byte, max(n, 2*len(d.buf), 512))
	}
	return d.buf[:s.ColumnBytes(col, d.buf[:n])]
}

// bindRecord binds the record to sql/add_record.sql.
func bindRecord(s *sqlite.Stmt, r *leasehold.Record) {
	s.BindInt64(1, int64(r.Seq))
	s.BindInt64(2, r.At.UnixMilli())
	s.BindText(3, string(r.Kind))
	s.BindText(4, r.Resource)
	s.BindText(5, r.Holder)
	s.BindInt64(6, int64(r.Token))
	s.BindInt64(7, int64(r.Before))
	s.BindInt64(8, int64(r.After))
	s.BindInt64(9, int64(r.Renewals))
	BindText(s, 10, r.Why)
	bindPairs(s, 11, r.Details)
}

// BindText binds text; none is null.
func BindText(s *sqlite.Stmt, param int, text string) {
	if text == "" {
		s.BindNull(param)
	} else {
		s.BindText(param, text)
	}
}

// ReadRecord reads the current record of a result with the columns of
// sql/history.sql.
func ReadRecord(s *sqlite.Stmt) (leasehold.Record, error) {
	r := leasehold.Record{
		Seq:      uint64(s.ColumnInt64(0)),
		At:       time.UnixMilli(s.ColumnInt64(1)).UTC(),
		Kind:     leasehold.Kind(s.ColumnText(2)),
		Resource: s.ColumnText(3),
		Holder:   s.ColumnText(4),
		Token:    uint64(s.ColumnInt64(5)),
		Before:   leasehold.State(s.ColumnInt64(6)),
		After:    leasehold.State(s.ColumnInt64(7)),
		Renewals: s.ColumnInt(8),
		Why:      s.ColumnText(9),
	}
	if s.ColumnIsNull(10) {
		return r, nil
	}
	var err error
	r.Details, err = decodePairs([]byte(s.ColumnText(10)))
	return r, err
}

// ErrMalformed says that a value is not what this program would have written.
var ErrMalformed = errors.New("malformed value")

// bindPairs binds metadata or details as a JSON object; none is null.
func bindPairs(s *sqlite.Stmt, param int, m map[string]string) {
	if len(m) == 0 {
		s.BindNull(param)
		return
	}
	s.BindText(param, EncodePairs(m))
}

func EncodePairs(m map[string]string) string {
	if len(m) == 1 { // as in each record's caller: encoding/json takes ten times as long
		for name, value := range m {
			if plain(name) && plain(value) {
				return `{"` + name + `":"` + value + `"}`
			}
		}
	}
	return encode(m)
}

func encode(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // people read it with an SQLite shell
	_ = enc.Encode(v)        // maps and lists of strings in memory: nothing can fail
	return strings.TrimSuffix(b.String(), "\n")
}

// plain reports whether a text needs no escaping in JSON.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func decodePairs(b []byte) (map[string]string, error) {
	var m map[string]string
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	return m, nil
}
