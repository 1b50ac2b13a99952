package etcd

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
)

// keys are the names of all keys. The names of resources and callers stand in them
// as they are: bytes compare as they do in a list, and etcd allows all of them.
type keys struct{ prefix string }

func (k keys) leases() string               { return k.prefix + "lease/" }
func (k keys) lease(resource string) string { return k.leases() + resource }
func (k keys) ids() string                  { return k.prefix + "id/" }

// id has the id's hash, since etcd logs the keys of slow requests.
func (k keys) id(id leasehold.ID) string {
	sum := sha256.Sum256(id[:])
	return k.ids() + hex.EncodeToString(sum[:16])
}

// callers begins the keys of one caller. No name has a control character.
func (k keys) callers(caller string) string { return k.allCallers() + caller + "\x00" }
func (k keys) allCallers() string           { return k.prefix + "caller/" }

func (k keys) caller(caller, resource string) string { return k.callers(caller) + resource }

// config begins the keys that every transaction looks at.
func (k keys) config() string   { return k.prefix + "config/" }
func (k keys) settings() string { return k.config() + "settings" }
func (k keys) store() string    { return k.config() + "store" }
func (k keys) leaving() string  { return k.config() + "leaving" }

// counter has the number of the last record.
func (k keys) counter() string { return k.prefix + "counter" }

// pending begins the records that have no number yet.
func (k keys) pending() string           { return k.prefix + "pending/" }
func (k keys) record(mark string) string { return k.pending() + mark }

// void is of an operation whose answer was lost: it can no longer happen.
func (k keys) void(mark string) string { return k.prefix + "void/" + mark }

func (k keys) history() string            { return k.prefix + "history/" }
func (k keys) numbered(seq uint64) string { return k.history() + fmt.Sprintf("%016x", seq) }
func (k keys) isNumbered(key []byte) uint64 { // zero: it is none
	seq, err := strconv.ParseUint(strings.TrimPrefix(string(key), k.history()), 16, 64)
	if err != nil {
		return 0
	}
	return seq
}

// under is the range of all keys that begin with a prefix.
func under(prefix string) clientv3.OpOption {
	return clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix))
}
