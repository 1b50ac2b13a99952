package past

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// TableRequest says which leases to list. Filters add up.
type TableRequest struct {
	Time      time.Time
	Prefix    string // of the lease's resource
	Holder    string // at the moment
	Namespace string // only leases with a claim in this namespace
	Path      string // and there one that overlaps with this pattern
	Limit     int    // 1 … leasehold.MaxPage; zero: leasehold.DefaultPage
	Cursor    string // from the page before, with the same filters and time
}

// Page is a part of the table of leases that were live at a moment, by resource.
type Page struct {
	Time   time.Time
	Leases []Lease // some may be Uncertain
	Cursor string  // empty on the last page
	Known  Known   // Uncertain: no records were kept at the time, so leases may be missing
	Retained
}

// list is the request for the present with the same filters, which has their limits.
func (q TableRequest) list() leasehold.ListRequest {
	return leasehold.ListRequest{Prefix: q.Prefix, Holder: q.Holder, Namespace: q.Namespace, Path: q.Path, Limit: q.Limit}
}

// Table answers which leases were live at a moment. Each page reads the history anew, as
// far back as its budget allows.
func Table(ctx context.Context, h leasehold.Historian, q TableRequest, opts *Options) (Page, error) {
	if err := q.list().ValidateAll(); err != nil {
		return Page{}, err
	}
	from, err := parseCursor(q.Cursor)
	if err != nil {
		return Page{}, err
	}
	r, err := newReader(ctx, h, q.Time, opts)
	if err != nil {
		return Page{}, err
	}
	p := Page{Time: r.at, Known: Certain}
	records := r.before()
	records.Prefix = q.Prefix
	trails, err := r.scan(records)
	if err == nil && len(trails) == 0 && r.retained.Purged {
		var reaches bool
		if reaches, err = r.reachesBack(); err == nil && !reaches {
			p.Known = NotRetained
		}
	}
	if p.Known == Certain && r.gaps.missing(r.at.Add(-grain), r.at) {
		p.Known = Uncertain
	}
	if err == nil {
		err = r.fill(&p, q, trails, from)
	}
	p.Retained = r.retained
	return p, err
}

// scan reads the records of all names, and returns what they say of each.
func (r *reader) scan(q leasehold.HistoryRequest) (map[string]*trail, error) {
	trails := map[string]*trail{}
	var oldest time.Time
	whole, err := r.each(q, func(record leasehold.Record) bool {
		oldest = record.At
		if record.Resource == "" {
			return true
		}
		t := trails[record.Resource]
		if t == nil {
			t = &trail{}
			trails[record.Resource] = t
		}
		t.add(record)
		return true
	})
	if !whole {
		r.retained.Incomplete, r.retained.ReadTo = true, oldest
	}
	maps.DeleteFunc(trails, func(_ string, t *trail) bool { return t.newest == nil })
	return trails, err
}

// fill puts the leases from a name on into the page.
func (r *reader) fill(p *Page, q TableRequest, trails map[string]*trail, from string) error {
	if q.Limit == 0 {
		q.Limit = leasehold.DefaultPage
	}
	for _, name := range slices.Sorted(maps.Keys(trails)) {
		t := trails[name]
		if name < from || !t.lease.Live() || !q.matches(t.lease) {
			continue
		}
		l, err := r.resolve(t)
		if err != nil {
			return err
		}
		if !l.Live() {
			continue
		}
		if len(p.Leases) == q.Limit {
			p.Cursor = base64.RawURLEncoding.EncodeToString([]byte("t:" + name))
			return nil
		}
		p.Leases = append(p.Leases, l)
	}
	return nil
}

func (q TableRequest) matches(l Lease) bool {
	if q.Holder != "" && l.Holder != q.Holder {
		return false
	}
	return q.Namespace == "" || slices.ContainsFunc(l.Claims, func(c leasehold.Claim) bool {
		return c.Namespace == q.Namespace &&
			(q.Path == "" || machine.Overlaps(c, leasehold.Claim{Namespace: q.Namespace, Pattern: q.Path}))
	})
}

func parseCursor(c string) (string, error) {
	if c == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(c)
	name, ours := strings.CutPrefix(string(text), "t:")
	if err != nil || !ours || leasehold.CheckResource(name) != nil {
		return "", leasehold.Invalid("cursor", "is not one that this table gave out; start again without it")
	}
	return name, nil
}
