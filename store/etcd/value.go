package etcd

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/cas"
)

// value is what stands at the key of a resource. People may read it; only this
// package may write it.
type value struct {
	State   string `json:"state"`
	LeaseID string `json:"leaseId"`
	Holder  string `json:"holder"`

	// Token is left out by the write that grants, whose number it is: the base and
	// the key's mod revision. Every later write of the same lease has it.
	Token uint64 `json:"token,omitempty"`

	AcquiredAt int64 `json:"acquiredAt"` // Unix milliseconds, by the clock of the program that wrote it
	RenewedAt  int64 `json:"renewedAt"`
	TTLMillis  int64 `json:"ttlMs"` // -1: no end

	Renewals    int32             `json:"renewals"`
	MaxRenewals int32             `json:"maxRenewals"` // -1: no limit
	Metadata    map[string]string `json:"metadata,omitempty"`
	Caller      string            `json:"caller,omitempty"`
	FormerID    string            `json:"formerId,omitempty"`
	Handed      bool              `json:"handed,omitempty"`

	Seconds int64    `json:"seconds,omitempty"` // that the etcd lease was granted for
	Marks   []string `json:"marks"`
}

// version is what decides about a write: the key's mod revision, and the etcd lease
// to which it is bound.
type version struct {
	revision int64
	lease    clientv3.LeaseID
	seconds  int64
}

func (v version) encode() cas.Version {
	if v.revision == 0 {
		return ""
	}
	return cas.Version(fmt.Sprintf("%d.%d.%d", v.revision, v.lease, v.seconds))
}

func decodeVersion(c cas.Version) (v version) {
	_, _ = fmt.Sscanf(string(c), "%d.%d.%d", &v.revision, &v.lease, &v.seconds)
	return v
}

func encodeValue(w cas.Write, seconds int64) string {
	row := w.Row
	v := value{
		State: row.State.String(), LeaseID: row.ID.Reveal(), Holder: row.Holder, Token: row.Token,
		AcquiredAt: row.Acquired, RenewedAt: row.Renewed, TTLMillis: -1,
		Renewals: row.Renewals, MaxRenewals: row.MaxRenewals, Metadata: row.Metadata, Caller: row.Caller,
		Handed: row.Handed, Seconds: seconds, Marks: w.Marks,
	}
	if row.TTL != leasehold.Infinite {
		v.TTLMillis = row.TTL.Milliseconds()
	}
	if !row.Former.IsZero() {
		v.FormerID = row.Former.Reveal()
	}
	text, _ := json.Marshal(v) // there is nothing in it that fails
	return string(text)
}

var errForeign = errors.New("etcd: a key under the prefix was not written by this store")

// decodeItem reads the key of a resource.
func decodeItem(kv *mvccpb.KeyValue, resource string, base uint64, now time.Time) (cas.Item, error) {
	var v value
	if err := json.Unmarshal(kv.Value, &v); err != nil {
		return cas.Item{}, errForeign // the decoder's text may repeat a secret
	}
	row, err := v.row(resource, now)
	if err != nil {
		return cas.Item{}, err
	}
	if row.Token == 0 {
		row.Token = base + uint64(kv.ModRevision)
	}
	if kv.Lease == 0 {
		row.Ends = machine.Never
	}
	at := version{kv.ModRevision, clientv3.LeaseID(kv.Lease), v.Seconds}
	return cas.Item{Row: row, Marks: v.Marks, Version: at.encode(), Now: now}, nil
}

func (v value) row(resource string, now time.Time) (machine.Row, error) {
	state, err := leasehold.ParseState(v.State)
	id, errID := leasehold.ParseID(v.LeaseID)
	if err != nil || errID != nil || !state.Locked() || !v.sound() {
		return machine.Row{}, errForeign
	}
	row := machine.Row{
		Resource: resource, Holder: v.Holder, ID: id, Token: v.Token, State: state,
		TTL: leasehold.Infinite, Acquired: v.AcquiredAt, Renewed: v.RenewedAt,
		Renewals: v.Renewals, MaxRenewals: v.MaxRenewals, Metadata: v.Metadata, Caller: v.Caller, Handed: v.Handed,
	}
	if v.TTLMillis >= 0 {
		row.TTL = time.Duration(v.TTLMillis) * time.Millisecond
	}
	row.Ends = machine.Time(now.UnixNano() + v.Seconds*int64(time.Second)) // at most
	if v.FormerID != "" {
		if row.Former, err = leasehold.ParseID(v.FormerID); err != nil {
			return machine.Row{}, errForeign
		}
	}
	return row, nil
}

// sound reports whether the values are such as this store writes.
func (v value) sound() bool {
	return v.Holder != "" && v.Token <= leasehold.MaxToken && v.Renewals >= 0 && v.MaxRenewals >= leasehold.Unlimited &&
		v.TTLMillis >= -1 && v.TTLMillis <= leasehold.MaxTTL.Milliseconds() && v.Seconds >= 0 && v.Seconds <= maxSeconds
}
