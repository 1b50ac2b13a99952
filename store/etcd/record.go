package etcd

import (
	"context"
	"encoding/json"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// A record is written in the transaction of what it records, under the mark of the
// operation, because transactions must not compete for a number. Numbers follow the
// revisions, which are the order of the commits: whoever comes first moves records to
// where their numbers are the keys, the process that wrote them soon, readers at once.

// record is what is stored of a record.
type record struct {
	At       int64             `json:"at"` // Unix milliseconds
	Kind     leasehold.Kind    `json:"event"`
	Resource string            `json:"resource,omitempty"`
	Holder   string            `json:"holder,omitempty"`
	Token    uint64            `json:"token,omitempty"` // left out until there is a number, by the write that grants
	Before   string            `json:"before"`
	After    string            `json:"after"`
	Renewals int               `json:"renewals,omitempty"`
	Why      string            `json:"reason,omitempty"`
	Details  map[string]string `json:"details,omitempty"`
	Base     uint64            `json:"base,omitempty"` // of the token that is left out
	Grants   bool              `json:"grants,omitempty"`
	Mark     string            `json:"mark"`
	Unkept   bool              `json:"unkept,omitempty"` // it gets a number and goes
}

// recordOps writes the record of a step; there is one, because a lease that is
// there is live.
func recordOps(k keys, base uint64, mark string, records []cas.Record) []clientv3.Op {
	if len(records) == 0 {
		return nil
	}
	return []clientv3.Op{clientv3.OpPut(k.record(mark), encodeRecord(base, mark, records[0]))}
}

// recordAlone writes a record that is not of a lease.
func (b *backend) recordAlone(r cas.Record) []clientv3.Op {
	return recordOps(b.keys, 0, newMark(), []cas.Record{r})
}

func encodeRecord(base uint64, mark string, r cas.Record) string {
	stored := record{
		At: r.At.UnixMilli(), Kind: r.Kind, Resource: r.Resource, Holder: r.Holder, Token: r.Token,
		Before: r.Before.String(), After: r.After.String(), Renewals: r.Renewals, Why: r.Why, Details: r.Details, Mark: mark,
		Unkept: !r.Kept,
	}
	if r.Token == 0 && (r.Kind == leasehold.KindAcquired || r.Kind == leasehold.KindTransferred) {
		stored.Grants, stored.Base = true, base
	}
	text, _ := json.Marshal(stored) // there is nothing in it that fails
	return string(text)
}

func decodeRecord(kv *mvccpb.KeyValue) (r record, err error) {
	if json.Unmarshal(kv.Value, &r) != nil || r.Kind == "" {
		return r, errForeign
	}
	if r.Grants {
		r.Token, r.Grants, r.Base = r.Base+uint64(kv.CreateRevision), false, 0
	}
	return r, nil
}

func (r record) public(seq uint64) leasehold.Record {
	before, _ := leasehold.ParseState(r.Before)
	after, _ := leasehold.ParseState(r.After)
	return leasehold.Record{
		Seq: seq, At: time.UnixMilli(r.At).UTC(), Kind: r.Kind, Resource: r.Resource, Holder: r.Holder, Token: r.Token,
		Before: before, After: after, Renewals: r.Renewals, Why: r.Why, Details: r.Details,
	}
}

// Append implements cas.Historian.
func (b *backend) Append(ctx context.Context, r cas.Record) error {
	same, err := b.open()
	if err != nil {
		return err
	}
	_, err = b.commit(ctx, writing, []clientv3.Cmp{same}, b.recordAlone(r))
	if err == nil {
		b.wakeNumberer()
	}
	return err
}
