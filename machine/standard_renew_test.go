package machine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// renewTable says what a renewal answers. A is the id on record, B a stranger, F
// the id before a change or transfer. Rows marked ± are tried with the right
// holder and token, the wrong holder, and the wrong token: a wrong id must
// answer the same to all of them.
const renewTable = `
renew with      | available       | active                      | breaking        | released        | expired         | broken
A               | lease_not_found | active(A) same ttl renewed  | lease_breaking  | lease_released  | lease_expired   | lease_broken
A, wrong holder | lease_not_found | holder_mismatch             | holder_mismatch | holder_mismatch | holder_mismatch | holder_mismatch
A, wrong token  | lease_not_found | token_mismatch              | token_mismatch  | token_mismatch  | token_mismatch  | token_mismatch
B ±             | lease_not_found | lease_not_found             | lease_not_found | lease_not_found | lease_not_found | lease_not_found
F changed ±     | lease_not_found | lease_not_found             | lease_not_found | lease_not_found | lease_not_found | lease_not_found
F handed ±      | lease_not_found | lease_released              | lease_released  | lease_released  | lease_released  | lease_released
none ±          | lease_not_found | lease_not_found             | lease_not_found | lease_not_found | lease_not_found | lease_not_found
`

func TestRenewTable(t *testing.T) {
	readTable(t, renewTable).each(t, variants, func(t *testing.T, with string, f variant, cell string) {
		eachProof(with, f, func(f variant, p proof) {
			r := leasehold.RenewRequest{ID: p.id, Holder: p.holder, Token: p.token}
			verifyCell(t, f, machine.Renew(now, r, fresh, f.row, machine.Standard), cell)
		})
	})
}

// proof is what a caller shows to say that a lease is its own.
type proof struct {
	id     leasehold.ID
	holder string
	token  uint64
}

// eachProof calls check with all proofs that a row's name stands for.
func eachProof(with string, f variant, check func(variant, proof)) {
	id, f := ids[firstWord(with)], withFormer(with, f)
	right := []proof{{id, "", 0}, {id, holder, 0}, {id, "", oldToken}, {id, holder, oldToken}}
	wrongHolder := []proof{{id, rival, 0}, {id, rival, oldToken}}
	wrongToken := []proof{{id, "", oldToken - 1}, {id, holder, oldToken + 1}}
	proofs := right
	switch {
	case strings.HasSuffix(with, "wrong holder"):
		proofs = wrongHolder
	case strings.HasSuffix(with, "wrong token"):
		proofs = wrongToken
	case strings.HasSuffix(with, "±"):
		proofs = append(append(right, wrongHolder...), wrongToken...)
	}
	for _, p := range proofs {
		check(f, p)
	}
}

// TestRenewTTL: the new end is counted from now. Counting from an earlier end,
// or from the first grant, would let the lease grow with each renewal.
func TestRenewTTL(t *testing.T) {
	for _, tt := range []struct {
		variant    string
		sent, want time.Duration
	}{
		{"fixed", 0, longTTL},
		{"fixed", time.Second, time.Second}, // shorter than what was left
		{"fixed", 24 * time.Hour, 24 * time.Hour},
		{"fixed", leasehold.Infinite, leasehold.Infinite},
		{"infinite", 0, leasehold.Infinite},
		{"infinite", askedTTL, askedTTL},
		{"last nanosecond", 0, longTTL},
	} {
		row := variantOf(t, "active", tt.variant)
		o := machine.Renew(now, leasehold.RenewRequest{ID: ids["A"], TTL: tt.sent}, fresh, row, machine.Standard)
		want := row
		want.TTL, want.Ends, want.Renewed, want.Renewals = tt.want, endAfter(tt.want), now.Wall, row.Renewals+1
		if diff := cmp.Diff(want, o.Row, idsByName); diff != "" {
			t.Errorf("Renew(%s, ttl %v) made another row (-want +got):\n%s", tt.variant, tt.sent, diff)
		}
	}
}

// TestRenewKeepsTheNewTTL: a ttl that was set once stays for the renewals that
// send none.
func TestRenewKeepsTheNewTTL(t *testing.T) {
	row := rowIn(leasehold.StateActive, left)
	set := machine.Renew(now, leasehold.RenewRequest{ID: ids["A"], TTL: askedTTL}, fresh, row, machine.Standard)
	again := machine.Renew(now, leasehold.RenewRequest{ID: ids["A"]}, fresh, set.Row, machine.Standard)
	if got := again.Row.Remaining(now); got != askedTTL {
		t.Errorf("Remaining = %v, want %v", got, askedTTL)
	}
}

func TestRenewLimit(t *testing.T) {
	for _, tt := range []struct {
		renewals, most int32
		want           string
	}{
		{0, 0, "max_renewals_exceeded"},
		{0, 1, "active(A) same ttl renewed"},
		{1, 1, "max_renewals_exceeded"},
		{2, 1, "max_renewals_exceeded"},
		{999_999, 1_000_000, "active(A) same ttl renewed"},
		{1_000_000, 1_000_000, "max_renewals_exceeded"},
		{0, leasehold.Unlimited, "active(A) same ttl renewed"},
		{5_000_000, leasehold.Unlimited, "active(A) same ttl renewed"},
	} {
		f := variant{row: rowIn(leasehold.StateActive, left)}
		f.row.Renewals, f.row.MaxRenewals = tt.renewals, tt.most
		verifyCell(t, f, machine.Renew(now, leasehold.RenewRequest{ID: ids["A"]}, fresh, f.row, machine.Standard), tt.want)
	}
}
