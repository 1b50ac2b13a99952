package redis

import (
	"strings"

	"github.com/leasehold/leasehold"
)

// keyspace names the keys.
type keyspace struct {
	prefix string
	tagged bool // all keys are in one slot

	// names orders the resources that have a lease, ends their ends; settings are
	// the run-time settings; open is what a record of an expiry needs; history is
	// a stream, numbered by seq.
	names, ends, settings, open, history, seq string

	// touched says when a name was last used, on a Cluster.
	touched string
}

func newKeyspace(prefix string) keyspace {
	k := keyspace{prefix: prefix, tagged: hashTag(prefix) != ""}
	index := func(what string) string {
		if k.tagged {
			return prefix + "leases:" + what
		}
		return "{" + prefix + "leases}:" + what
	}
	k.names, k.ends, k.settings, k.touched = index("names"), index("ends"), index("settings"), index("touched")
	k.open, k.history, k.seq = index("open"), index("history"), index("seq")
	return k
}

// nameEscaper keeps braces out of names: they would be a hash tag.
var nameEscaper = strings.NewReplacer("{", "%7B", "}", "%7D", "%", "%25")

func (k keyspace) lease(resource string) string {
	return k.prefix + "lease:" + nameEscaper.Replace(resource)
}

func (k keyspace) id(id leasehold.ID) string { return k.prefix + "leaseid:" + id.Reveal() }

// callerEnds is, on a Cluster, when the leases of one caller end.
func (k keyspace) callerEnds(caller string) string {
	return "{" + k.prefix + "leases}:caller:" + caller
}

// freed is the channel on which the end of a lease is published.
func (k keyspace) freed() string { return k.prefix + "leases:freed" }

// of are the keys of one resource, in the order of begin.lua.
func (k keyspace) of(resource string) [3]string {
	if k.tagged {
		name := nameEscaper.Replace(resource)
		return [3]string{k.prefix + "lease:" + name, k.prefix + "token:" + name, k.prefix + "ended:" + name}
	}
	lease := k.lease(resource)
	return [3]string{lease, "{" + lease + "}:token", "{" + lease + "}:ended"}
}

// indexes are the other keys of begin.lua.
func (k keyspace) indexes() []string {
	return []string{k.names, k.ends, k.settings, k.open, k.history, k.seq}
}
