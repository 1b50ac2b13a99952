package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// row is a lease as the table shows it.
type row struct {
	Name    string // of the lease: what its page is found by
	Labels  []string
	Kind    string // "set", "blob" or empty
	Holder  string
	Token   uint64
	State   string
	Left    float64 // seconds; below zero is no end
	TTL     float64
	Since   time.Time
	Ends    time.Time
	Renewed int
	Pairs   []string
	Queue   []string // holders that wait for it
	Queued  int
	Doubt   string // why a lease of the past is not certain
}

// shownClaims and shownQueue keep a row small; the resource's page has all.
const (
	shownClaims = 4
	shownQueue  = 3
)

func newRow(l leasehold.Lease, waiting []leasehold.Wait) row {
	r := row{
		Name: l.Resource, Labels: []string{l.Resource}, Kind: kindOf(l), Holder: l.Holder, Token: l.Token, State: l.State.String(),
		Left: l.Remaining.Seconds(), TTL: l.TTL.Seconds(), Since: l.AcquiredAt, Ends: l.ExpiresAt, Renewed: l.Renewals, Queued: len(waiting),
	}
	if l.Remaining == leasehold.Infinite {
		r.Left, r.TTL = -1, -1
	}
	if len(l.Claims) > 0 {
		r.Labels = claimTexts(l.Claims)
	}
	for _, key := range slices.Sorted(maps.Keys(l.Metadata)) {
		r.Pairs = append(r.Pairs, key+"="+l.Metadata[key])
	}
	for _, w := range waiting[:min(len(waiting), shownQueue)] {
		r.Queue = append(r.Queue, w.Holder)
	}
	return r
}

// Shown and Hidden are the labels of a row, and how many more there are.
func (r row) Shown() []string { return r.Labels[:min(len(r.Labels), shownClaims)] }
func (r row) Hidden() int     { return max(0, len(r.Labels)-shownClaims) }

// Unnamed is how many wait beyond those that are named.
func (r row) Unnamed() int { return max(0, r.Queued-len(r.Queue)) }

// Version changes when the row must be drawn anew; the time that is left does not.
func (r row) Version() string {
	return fmt.Sprint(r.Token, r.State, r.Renewed, r.Ends.UnixMilli(), r.Queued, strings.Join(r.Queue, "\x00"))
}

// blobPrefix begins the names of resources that are blobs of the Azure Blob API.
const blobPrefix = "blob:"

func kindOf(l leasehold.Lease) string {
	switch {
	case len(l.Claims) > 0:
		return "set"
	case strings.HasPrefix(l.Resource, blobPrefix):
		return "blob"
	}
	return ""
}

func claimTexts(claims []leasehold.Claim) []string {
	texts := make([]string, len(claims))
	for i, c := range claims {
		texts[i] = c.String()
	}
	return texts
}
