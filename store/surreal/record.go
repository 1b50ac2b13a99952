package surreal

import (
	"encoding/json"
	"math"
	"time"

	"github.com/surrealdb/surrealdb.go/pkg/models"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/cas"
)

// record is what the table leases keeps for one resource. People may read and query
// it; only this package may write it.
type record struct {
	Resource string  `json:"resource"`
	State    string  `json:"state"` // as last written: an active lease past expires_at has expired
	Live     bool    `json:"live"`  // the state is active or breaking
	Holder   string  `json:"holder"`
	Caller   string  `json:"caller"`
	LeaseID  *string `json:"lease_id"`
	FormerID *string `json:"former_id"`
	Handed   bool    `json:"handed"`
	Token    int64   `json:"token"`
	TTL      int64   `json:"ttl_ms"` // -1: no end

	CreatedAt *models.CustomDateTime `json:"created_at"`
	RenewedAt *models.CustomDateTime `json:"renewed_at"`
	ExpiresAt *models.CustomDateTime `json:"expires_at"` // none: never
	Due       int64                  `json:"due"`        // expires_at in nanoseconds while live, else far

	Renewals    int64    `json:"renewals"`
	MaxRenewals int64    `json:"max_renewals"` // -1: no limit
	Metadata    string   `json:"metadata"`     // JSON
	Marks       []string `json:"marks"`        // the first is the version
}

// far is the Due of a record that never is.
const far = math.MaxInt64

// leaseRecord names the record of a resource.
func leaseRecord(resource string) models.RecordID {
	return models.RecordID{Table: "leases", ID: resource}
}

// encode makes the parameters of a write. What is left out is NONE.
func encode(w cas.Write) map[string]any {
	row := w.Row
	metadata, _ := json.Marshal(row.Metadata) // of strings: never fails
	v := map[string]any{
		"resource": row.Resource, "state": row.State.String(), "live": row.State.Locked(),
		"holder": row.Holder, "caller": row.Caller, "handed": row.Handed, "token": int64(row.Token),
		"ttl_ms": milliseconds(row.TTL), "due": int64(far),
		"renewals": int64(row.Renewals), "max_renewals": int64(row.MaxRenewals),
		"metadata": string(metadata), "marks": w.Marks,
	}
	if !row.ID.IsZero() {
		v["lease_id"] = row.ID.Reveal()
	}
	if !row.Former.IsZero() {
		v["former_id"] = row.Former.Reveal()
	}
	if row.State == leasehold.StateAvailable {
		return v
	}
	v["created_at"], v["renewed_at"] = stamp(time.UnixMilli(row.Acquired)), stamp(time.UnixMilli(row.Renewed))
	if row.Ends != machine.Never {
		v["expires_at"] = stamp(time.Unix(0, int64(row.Ends)))
		if row.State.Locked() {
			v["due"] = int64(row.Ends)
		}
	}
	return v
}

func stamp(t time.Time) *models.CustomDateTime { return &models.CustomDateTime{Time: t.UTC()} }

func milliseconds(ttl time.Duration) int64 {
	if ttl == leasehold.Infinite {
		return -1
	}
	return ttl.Milliseconds()
}

// item is the record as package cas sees it.
func (r *record) item(now time.Time) (cas.Item, error) {
	row, err := r.row()
	if err != nil || len(r.Marks) == 0 {
		return cas.Item{}, unavailable(errUnreadable)
	}
	return cas.Item{Row: row, Marks: r.Marks, Version: cas.Version(r.Marks[0]), Now: now}, nil
}

func (r *record) row() (machine.Row, error) {
	state, err := leasehold.ParseState(r.State)
	if err != nil || !r.sound(state) {
		return machine.Row{}, errUnreadable
	}
	row := machine.Row{
		Resource: r.Resource, Holder: r.Holder, Caller: r.Caller, Token: uint64(r.Token), State: state,
		Renewals: int32(r.Renewals), MaxRenewals: int32(r.MaxRenewals), Handed: r.Handed,
		TTL: leasehold.Infinite, Ends: machine.Never,
	}
	if r.TTL >= 0 {
		row.TTL = time.Duration(r.TTL) * time.Millisecond
	}
	if r.CreatedAt != nil && r.RenewedAt != nil {
		row.Acquired, row.Renewed = r.CreatedAt.UnixMilli(), r.RenewedAt.UnixMilli()
	}
	switch {
	case r.ExpiresAt != nil:
		row.Ends = machine.Time(r.ExpiresAt.UnixNano())
	case state == leasehold.StateAvailable:
		row.Ends = 0
	}
	if err := json.Unmarshal([]byte(r.Metadata), &row.Metadata); err != nil {
		return machine.Row{}, errUnreadable
	}
	if row.ID, err = parseID(r.LeaseID); err != nil {
		return machine.Row{}, err
	}
	row.Former, err = parseID(r.FormerID)
	return row, err
}

// sound reports whether the values are such as this store writes.
func (r *record) sound(state leasehold.State) bool {
	return r.Resource != "" && r.Token >= 0 && r.Token <= leasehold.MaxToken &&
		(r.Holder != "" || state == leasehold.StateAvailable) &&
		r.TTL >= -1 && r.TTL <= leasehold.MaxTTL.Milliseconds() &&
		r.Renewals >= 0 && r.Renewals <= math.MaxInt32 &&
		r.MaxRenewals >= leasehold.Unlimited && r.MaxRenewals <= math.MaxInt32
}

func parseID(s *string) (leasehold.ID, error) {
	if s == nil {
		return leasehold.ID{}, nil
	}
	id, err := leasehold.ParseID(*s)
	if err != nil {
		return leasehold.ID{}, errUnreadable
	}
	return id, nil
}
