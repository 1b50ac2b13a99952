package cosmos

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/cas"
)

// grain is how coarse the Date header is. The extra millisecond is for "later
// than the end and a second", not "at".
const grain = time.Second + time.Millisecond

// document is what Cosmos keeps for one resource. People may read and query it;
// only this package may write it.
type document struct {
	ID           string `json:"id"`
	PartitionKey string `json:"partitionKey"`
	LeaseName    string `json:"leaseName"`

	Status  string `json:"status"` // as last written: an active lease past expiresAt has expired
	LeaseID string `json:"leaseId,omitempty"`
	Holder  string `json:"holder,omitempty"`
	Token   uint64 `json:"token"`

	AcquiredAt *stamp `json:"acquiredAt,omitempty"`
	RenewedAt  *stamp `json:"renewedAt,omitempty"`
	ExpiresAt  *stamp `json:"expiresAt"` // null: never
	EndedAt    *stamp `json:"endedAt,omitempty"`

	DurationSeconds float64           `json:"durationSeconds"` // -1: no end
	RenewalCount    int32             `json:"renewalCount"`
	MaxRenewals     int32             `json:"maxRenewals"` // -1: no limit
	Metadata        map[string]string `json:"metadata"`

	FormerID string   `json:"formerId,omitempty"`
	Handed   bool     `json:"handed,omitempty"`
	Caller   string   `json:"caller,omitempty"`
	Marks    []string `json:"marks"`
	TTL      int32    `json:"ttl"` // after which Cosmos deletes the document

	ETag string `json:"_etag,omitempty"`
}

// stamp is a time as Cosmos' SQL compares it: RFC 3339 in UTC with milliseconds,
// always of the same length.
type stamp time.Time

const stampLayout = "2006-01-02T15:04:05.000Z"

func (s stamp) MarshalText() ([]byte, error) {
	return time.Time(s).UTC().AppendFormat(nil, stampLayout), nil
}

func (s *stamp) UnmarshalText(b []byte) error {
	t, err := time.Parse(stampLayout, string(b))
	*s = stamp(t)
	return err
}

func stampMillis(ms int64) *stamp {
	s := stamp(time.UnixMilli(ms))
	return &s
}

func (s *stamp) millis() int64 {
	if s == nil {
		return 0
	}
	return time.Time(*s).UnixMilli()
}

// encodeDocument makes the document of a write.
func encodeDocument(w cas.Write, p Partition) document {
	row := w.Row
	d := document{
		ID: documentID(row.Resource), PartitionKey: p.key(row.Resource), LeaseName: row.Resource,
		Status: row.State.String(), Holder: row.Holder, Token: row.Token,
		RenewalCount: row.Renewals, MaxRenewals: row.MaxRenewals,
		Metadata: row.Metadata, Handed: row.Handed, Caller: row.Caller, Marks: w.Marks,
		LeaseID: revealed(row.ID), FormerID: revealed(row.Former),
		DurationSeconds: seconds(row.TTL), TTL: keptFor(row),
	}
	if d.Metadata == nil {
		d.Metadata = map[string]string{}
	}
	if row.State == leasehold.StateAvailable {
		return d
	}
	d.AcquiredAt, d.RenewedAt = stampMillis(row.Acquired), stampMillis(row.Renewed)
	switch {
	case !row.State.Locked():
		d.EndedAt = stampMillis(int64(row.Ends) / int64(time.Millisecond))
	case row.Ends != machine.Never:
		d.ExpiresAt = stampMillis((int64(row.Ends) - int64(grain)) / int64(time.Millisecond))
	}
	return d
}

func revealed(id leasehold.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.Reveal()
}

func seconds(ttl time.Duration) float64 {
	if ttl == leasehold.Infinite {
		return -1
	}
	return ttl.Seconds()
}

// keptFor is the document's ttl: 2 × the duration and a day, so that the token
// outlives the lease; without an end as long as the lease has none.
func keptFor(row machine.Row) int32 {
	const day = 24 * 60 * 60
	switch {
	case row.State.Locked() && row.Ends == machine.Never:
		return -1
	case row.TTL == leasehold.Infinite:
		return day
	}
	return int32(min(math.MaxInt32, math.Ceil(2*row.TTL.Seconds())+day))
}

var errForeign = errors.New("the document was not written by this store")

// decodeDocument reads a document of the container.
func decodeDocument(b []byte, now time.Time) (cas.Item, error) {
	var d document
	if err := json.Unmarshal(b, &d); err != nil || d.LeaseName == "" {
		return cas.Item{}, errForeign // the decoder's text may repeat a secret
	}
	row, err := d.row()
	return cas.Item{Row: row, Marks: d.Marks, Version: cas.Version(d.ETag), Now: now}, err
}

// sound reports whether the values are such as this store writes.
func (d document) sound(state leasehold.State) bool {
	return d.Token <= leasehold.MaxToken && (d.Holder != "" || state == leasehold.StateAvailable) &&
		(d.DurationSeconds == -1 || d.DurationSeconds >= 0 && d.DurationSeconds <= leasehold.MaxTTL.Seconds()) &&
		d.RenewalCount >= 0 && d.MaxRenewals >= leasehold.Unlimited
}

func (d document) row() (machine.Row, error) {
	state, err := leasehold.ParseState(d.Status)
	if err != nil || !d.sound(state) {
		return machine.Row{}, errForeign
	}
	row := machine.Row{
		Resource: d.LeaseName, Holder: d.Holder, Token: d.Token, State: state,
		Acquired: d.AcquiredAt.millis(), Renewed: d.RenewedAt.millis(),
		Renewals: d.RenewalCount, MaxRenewals: d.MaxRenewals,
		Handed: d.Handed, Caller: d.Caller, TTL: leasehold.Infinite, Ends: machine.Never,
	}
	if len(d.Metadata) > 0 {
		row.Metadata = d.Metadata
	}
	if d.DurationSeconds >= 0 {
		row.TTL = time.Duration(math.Round(d.DurationSeconds*1000)) * time.Millisecond
	}
	switch {
	case d.EndedAt != nil:
		row.Ends = machine.Time(time.Time(*d.EndedAt).UnixNano())
	case d.ExpiresAt != nil:
		row.Ends = machine.Time(time.Time(*d.ExpiresAt).UnixNano()) + machine.Time(grain)
	case state == leasehold.StateAvailable:
		row.Ends, row.TTL = 0, 0
	}
	if row.ID, err = parseID(d.LeaseID); err != nil {
		return machine.Row{}, err
	}
	row.Former, err = parseID(d.FormerID)
	return row, err
}

func parseID(s string) (leasehold.ID, error) {
	if s == "" {
		return leasehold.ID{}, nil
	}
	id, err := leasehold.ParseID(s)
	if err != nil {
		return id, errForeign
	}
	return id, nil
}
