package etcd

import (
	"context"
	"time"

	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold/store/cas"
)

// LoadSettings implements cas.Configurer.
func (b *backend) LoadSettings(ctx context.Context) (text string, now time.Time, err error) {
	v, err := b.read(ctx, clientv3.OpGet(b.keys.counter()))
	if err != nil {
		return "", now, err
	}
	c, err := decodeCounter(v.found.Kvs)
	b.last.Store(max(b.last.Load(), c.last))
	return v.settings, b.now(), err
}

// SwapSettings implements cas.Configurer.
func (b *backend) SwapSettings(ctx context.Context, old, text string, r cas.Record) error {
	same, err := b.open()
	if err != nil {
		return err
	}
	_, err = b.commit(ctx, writing,
		[]clientv3.Cmp{sameText(b.keys.settings(), old), same},
		append(b.recordAlone(r), clientv3.OpPut(b.keys.settings(), text)))
	if err == nil {
		b.wakeNumberer()
	}
	return err
}
