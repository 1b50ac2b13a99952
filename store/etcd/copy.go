package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/store/cas"
)

// Export implements move.Store.
func (s *Store) Export(ctx context.Context, after string, n int) ([]move.Lease, error) {
	b := s.backend
	for {
		items, err := b.scan(ctx, b.look, "", after, n)
		if err != nil || len(items) == 0 {
			return nil, moveError(err)
		}
		leases, err := b.exported(ctx, items)
		if err != nil || len(leases) > 0 {
			return leases, moveError(err)
		}
		after = items[len(items)-1].Row.Resource // all of them have just ended
	}
}

// exported are the leases of items, without those that have ended meanwhile.
func (b *backend) exported(ctx context.Context, items []cas.Item) ([]move.Lease, error) {
	left := make([]time.Duration, len(items))
	err := inParallel(len(items), func(i int) (err error) {
		left[i], err = b.atMost(ctx, items[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	var leases []move.Lease
	for i, item := range items {
		if left[i] != 0 {
			leases = append(leases, move.Lease{Row: item.Row, Remaining: left[i]})
		}
	}
	return leases, nil
}

// atMost is how long a lease lasts at most: etcd rounds down, and the target must not
// end it before what its holder was told. Zero: it is gone.
func (b *backend) atMost(ctx context.Context, item cas.Item) (time.Duration, error) {
	lease := decodeVersion(item.Version).lease
	if lease == 0 {
		return leasehold.Infinite, nil
	}
	left, err := b.timeToLive(ctx, lease)
	if err != nil || left < 0 {
		return 0, err
	}
	left += time.Second
	if item.Row.State == leasehold.StateActive && item.Row.TTL != leasehold.Infinite {
		left = min(left, item.Row.TTL)
	}
	return left, nil
}

// Clear implements move.Store.
func (s *Store) Clear(ctx context.Context, mark move.Mark) (more bool, err error) {
	more, err = s.backend.clear(ctx, mark)
	return more, moveError(err)
}

// clearedAtOnce is how many keys of each kind a transaction deletes.
const clearedAtOnce = 2000

// clear deletes leases, and says whether there are more. Their etcd leases run out.
func (b *backend) clear(ctx context.Context, mark move.Mark) (more bool, err error) {
	prefixes := []string{b.keys.leases(), b.keys.ids(), b.keys.allCallers()}
	var reads, ops []clientv3.Op
	for _, prefix := range prefixes {
		reads = append(reads, clientv3.OpGet(prefix, under(prefix), clientv3.WithKeysOnly(), clientv3.WithLimit(clearedAtOnce)))
	}
	answer, err := b.commit(ctx, reading, nil, reads)
	if err != nil {
		return false, err
	}
	for i, prefix := range prefixes {
		found := answer.Responses[i].GetResponseRange()
		more = more || found.More
		if n := len(found.Kvs); n > 0 {
			ops = append(ops, clientv3.OpDelete(prefix, clientv3.WithRange(string(found.Kvs[n-1].Key)+"\x00")))
		}
	}
	return more, b.moveStep(ctx, mark, nil, func(storeState) []clientv3.Op { return ops })
}

// Import implements move.Store. Leases that have ended are not remembered.
func (s *Store) Import(ctx context.Context, mark move.Mark, leases []move.Lease) error {
	return moveError(s.backend.importLeases(ctx, mark, leases))
}

// importedAtOnce is how many leases a transaction writes: each takes up to four
// operations, of 128 that etcd allows.
const importedAtOnce = 30

func (b *backend) importLeases(ctx context.Context, mark move.Mark, leases []move.Lease) error {
	if err := b.moveStep(ctx, mark, nil, func(storeState) []clientv3.Op { return nil }); err != nil {
		return err // before etcd leases are granted
	}
	live := make([]move.Lease, 0, len(leases))
	for _, l := range leases {
		if l.Remaining != 0 && l.Row.State.Locked() {
			live = append(live, l)
		}
	}
	puts := make([][]clientv3.Op, len(live))
	err := inParallel(len(live), func(i int) (err error) {
		puts[i], err = b.importOps(ctx, live[i])
		return err
	})
	if err != nil {
		return err
	}
	for len(puts) > 0 {
		n := min(len(puts), importedAtOnce)
		if err := b.importPuts(ctx, mark, puts[:n]); err != nil {
			return err
		}
		puts = puts[n:]
	}
	return nil
}

// importOps writes one lease, with the token that it has.
func (b *backend) importOps(ctx context.Context, l move.Lease) (ops []clientv3.Op, err error) {
	t := &transaction{backend: b}
	if l.Remaining != leasehold.Infinite {
		if t.to, err = b.grant(ctx, l.Remaining); err != nil {
			return nil, err
		}
	}
	t.put(b.keys.lease(l.Row.Resource), encodeValue(cas.Write{Row: l.Row, Marks: []string{newMark()}}, t.to.seconds))
	for key, text := range b.indexed(l.Row) {
		t.put(key, text)
	}
	return t.ops, nil
}

// importPuts writes leases in one step, or if that is too large, in several.
func (b *backend) importPuts(ctx context.Context, mark move.Mark, puts [][]clientv3.Op) error {
	err := b.moveStep(ctx, mark, nil, func(storeState) (ops []clientv3.Op) {
		for _, one := range puts {
			ops = append(ops, one...)
		}
		return ops
	})
	if half := len(puts) / 2; half > 0 && errors.Is(err, rpctypes.ErrRequestTooLarge) {
		return errors.Join(b.importPuts(ctx, mark, puts[:half]), b.importPuts(ctx, mark, puts[half:]))
	}
	return err
}

// ImportBase implements move.Store. Tokens are the base and a revision, which grows.
func (s *Store) ImportBase(ctx context.Context, mark move.Mark, token uint64, settings map[string]any) error {
	b := s.backend
	change := clientv3.OpDelete(b.keys.settings())
	if len(settings) > 0 {
		text, err := json.Marshal(settings)
		if err != nil {
			return err
		}
		change = clientv3.OpPut(b.keys.settings(), string(text))
	}
	return moveError(b.moveStep(ctx, mark, nil, func(was storeState) []clientv3.Op {
		was.Base = max(was.Base, token)
		return []clientv3.Op{clientv3.OpPut(b.keys.store(), was.encode()), change}
	}))
}

// decodeSettings reads the settings with whole numbers.
func decodeSettings(text string) (map[string]any, error) {
	all := map[string]any{}
	if text == "" {
		return all, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&all); err != nil {
		return nil, unavailable(errForeign)
	}
	for key, v := range all {
		switch v := v.(type) {
		case bool:
		case json.Number:
			whole, err := v.Int64()
			if err != nil {
				return nil, unavailable(errForeign)
			}
			all[key] = whole
		default:
			return nil, unavailable(errForeign)
		}
	}
	return all, nil
}
