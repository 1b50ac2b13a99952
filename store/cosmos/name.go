package cosmos

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/leasehold/leasehold"
)

// Partition is a strategy: which leases share a logical partition.
type Partition string

// The strategies. Names that are not built with leasehold.Name, or without a
// tenant or region, have a partition of their own.
const (
	ByResource Partition = "resource" // every resource has its own: spreads best
	ByTenant   Partition = "tenant"   // the Tenant of a leasehold.Name
	ByRegion   Partition = "region"   // the Region of a leasehold.Name
)

func (p Partition) valid() bool { return p == ByResource || p == ByTenant || p == ByRegion }

// maxPartitionKey is the most that every container takes: old ones are limited
// to 101 bytes.
const maxPartitionKey = 100

// key returns the partition key of a resource. The prefix keeps tenants apart
// from resources of the same name.
func (p Partition) key(resource string) string {
	name, err := leasehold.ParseName(resource)
	switch {
	case err == nil && p == ByTenant && name.Tenant != "":
		return within("tenant:"+escape(name.Tenant), maxPartitionKey)
	case err == nil && p == ByRegion && name.Region != "":
		return within("region:"+escape(name.Region), maxPartitionKey)
	}
	return within("resource:"+escape(resource), maxPartitionKey)
}

// maxDocumentID is the longest id of a document in bytes.
const maxDocumentID = 255

// documentID returns the id of a resource's document: the name with everything
// but letters, digits and _ . : - @ written as ~XX, or its hash where that is
// too long. Two names never have the same id, as far as a hash can promise; the
// document says the name, too.
func documentID(resource string) string { return within(escape(resource), maxDocumentID) }

// escape writes a name in characters that URLs, headers and ids take as they are.
func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; plain(c) && (c != '.' || i > 0) { // . and .. are steps of a path
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "~%02X", c)
		}
	}
	return b.String()
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.:-@", c) >= 0
}

// within returns s, or its hash if it is longer. No s begins as a hash does: in
// an id ~ is followed by a digit, and a partition key begins with its strategy.
func within(s string, most int) string {
	if len(s) <= most {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "~~" + hex.EncodeToString(sum[:])
}
