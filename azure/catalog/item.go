package catalog

import (
	"time"

	"github.com/leasehold/leasehold"
)

// Kind is the kind of a blob.
type Kind int64

// The kinds of blobs.
const (
	Block  Kind = 1
	Append Kind = 2
	Page   Kind = 3
)

func (k Kind) String() string {
	switch k {
	case Append:
		return "AppendBlob"
	case Page:
		return "PageBlob"
	}
	return "BlockBlob"
}

// Headers are those that a blob is served with.
type Headers struct {
	ContentType        string `json:"type,omitempty"`    // empty: application/octet-stream, unless Untyped
	Untyped            bool   `json:"untyped,omitempty"` // the type was taken away, so the blob is served without one
	ContentEncoding    string `json:"encoding,omitempty"`
	ContentLanguage    string `json:"language,omitempty"`
	ContentDisposition string `json:"disposition,omitempty"`
	CacheControl       string `json:"cache,omitempty"`
	ContentMD5         []byte `json:"md5,omitempty"` // nil: unknown, as after a commit of blocks
}

// Copied describes the copy that made a blob.
type Copied struct {
	ID         string `json:"id"`
	Source     string `json:"source"` // URL
	Status     string `json:"status"` // success, aborted
	Progress   string `json:"progress"`
	Completed  Ticks  `json:"completed"`
	Incomplete string `json:"problem,omitempty"` // why not a success
}

// Details are what an item has beside its columns, kept as JSON.
type Details struct {
	Headers
	Metadata map[string]string `json:"metadata,omitempty"` // names as they were sent; no two alike but for letter case
	Tags     map[string]string `json:"tags,omitempty"`

	Tier        string `json:"tier,omitempty"` // empty: inferred, Hot
	TierChanged Ticks  `json:"tier_changed,omitempty"`

	Copy *Copied `json:"copy,omitempty"`

	Sequence int64 `json:"sequence,omitempty"` // of a page blob
	Blocks   int   `json:"blocks,omitempty"`   // appended to an append blob
	Sealed   bool  `json:"sealed,omitempty"`   // an append blob that takes no more
	Sparse   bool  `json:"sparse,omitempty"`   // a block blob made of a page blob, gaps and all

	// LastSnapshot of a base blob keeps ids increasing even when the latest
	// snapshot was deleted.
	LastSnapshot Ticks `json:"last_snapshot,omitempty"`

	// Of is, for a snapshot, the ETag of its base when it was taken.
	Of Ticks `json:"of,omitempty"`
}

// Item is a blob or a snapshot.
type Item struct {
	Ref
	Kind      Kind
	Committed bool  // false: there are only uncommitted blocks
	Ticks     Ticks // ETag and last change
	Created   Ticks
	Size      int64
	Expires   *Ticks // when a snapshot expires; nil: never
	Details
	Lease LeaseView // of a base blob

	manifest int64
	staged   bool // there are uncommitted blocks of that name
}

// ETag returns the item's ETag with its quotes.
func (i *Item) ETag() string { return i.Ticks.ETag() }

// Modified returns when the item last changed.
func (i *Item) Modified() time.Time { return i.Ticks.Time() }

// LeaseView is what everybody may see of a lease.
type LeaseView struct {
	Status   string // locked, unlocked
	State    string // available, leased, expired, breaking, broken
	Duration string // infinite, fixed; empty unless leased
}

// Container is a container.
type Container struct {
	Ref
	Ticks Ticks // ETag and last change
	ContainerDetails
	Lease LeaseView

	id int64
}

// ContainerDetails are kept as JSON.
type ContainerDetails struct {
	Metadata map[string]string `json:"metadata,omitempty"`
	Public   string            `json:"public,omitempty"` // blob, container, or nobody without a signature
	Policies []Policy          `json:"policies,omitempty"`
}

// Policy is a stored access policy. Times and permissions are as they were
// sent; empty ones must stand in the signature instead.
type Policy struct {
	ID          string `json:"id"`
	Start       string `json:"start,omitempty"`
	Expiry      string `json:"expiry,omitempty"`
	Permissions string `json:"permissions,omitempty"`
}

// Access is what a request shows for access to a container or blob.
type Access struct {
	Lease  leasehold.ID // zero: none
	If     Conditions
	Caller string // network address, for the history of leases
}

// Conditions are the conditional headers; empty and nil ones were not sent. ETags
// are as they were sent, and may be "*".
type Conditions struct {
	Match, NoneMatch                   string
	ModifiedSince, UnmodifiedSince     *time.Time
	Tags                               string // x-ms-if-tags: an expression
	SequenceLE, SequenceLT, SequenceEQ *int64 // page blobs
	MaxSize, AppendPosition            *int64 // append blobs
}
