package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// snapshotBlob makes a snapshot. Metadata that is sent is the snapshot's; without
// any it has the blob's.
func (s *Server) snapshotBlob(c *call) error {
	metadata, err := c.metadata()
	if err != nil {
		return err
	}
	created, err := s.catalog.Snapshot(c.r.Context(), c.ref, metadata, c.access)
	if err != nil {
		return err
	}
	c.header().Set("X-Ms-Snapshot", created.Snapshot.String())
	return c.answerCreated(created)
}

// setBlobExpiry sets when a snapshot expires. The headers are those that Azure has
// for files; blobs themselves do not expire here.
func (s *Server) setBlobExpiry(c *call) error {
	if !c.ref.IsSnapshot() {
		return azerr.New(azerr.NotImplemented).With("This server lets only snapshots expire: name one with snapshot=.")
	}
	if c.access.If != (catalog.Conditions{}) {
		return azerr.New(azerr.ConditionHeadersNotSupported)
	}
	at, err := c.expiry()
	if err != nil {
		return err
	}
	if err := s.catalog.SetExpiry(c.r.Context(), c.ref, at); err != nil {
		return err
	}
	return c.answer(http.StatusOK)
}

// expiry reads a time of expiry; nil: never.
func (c *call) expiry() (*catalog.Ticks, error) {
	const option, when = "x-ms-expiry-option", "x-ms-expiry-time"
	text := c.r.Header.Get(when)
	switch c.r.Header.Get(option) {
	case "":
		return nil, noHeader(option)
	case "NeverExpire":
		return nil, nil
	case "RelativeToNow":
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ms <= 0 || ms > int64(100*365*24*time.Hour/time.Millisecond) {
			return nil, badHeader(when, "it must be a number of milliseconds from now, up to a hundred years")
		}
		return new(catalog.TicksOf(c.started.Add(time.Duration(ms) * time.Millisecond))), nil
	case "Absolute":
		at, err := http.ParseTime(text)
		if err != nil || !at.After(c.started) {
			return nil, badHeader(when, "it must be a date in the future, as in Mon, 02 Jan 2006 15:04:05 GMT")
		}
		return new(catalog.TicksOf(at)), nil
	}
	return nil, badHeader(option, "it must be RelativeToNow, Absolute or NeverExpire")
}

// Lineage is the answer about a blob and its snapshots, in JSON.
type Lineage struct {
	Blob      string         `json:"blob"`
	Base      *LineageEntry  `json:"base"` // null: deleted, while its snapshots stayed
	Snapshots []LineageEntry `json:"snapshots"`
}

// LineageEntry is one version of a blob.
type LineageEntry struct {
	Snapshot     string     `json:"snapshot,omitempty"`
	ETag         string     `json:"etag"`
	Modified     time.Time  `json:"modified"`
	Size         int64      `json:"size"`
	Own          int64      `json:"own_bytes"`               // what deleting it alone would free
	Of           string     `json:"of_etag,omitempty"`       // the blob's ETag when the snapshot was made
	RestoredFrom string     `json:"restored_from,omitempty"` // the snapshot that the content is a copy of
	Expires      *time.Time `json:"expires,omitempty"`
}

// getLineage answers where a blob's snapshots come from, what they cost, and when
// they expire.
func (s *Server) getLineage(c *call) error {
	found, err := s.catalog.Lineage(c.r.Context(), c.ref)
	if err != nil {
		return err
	}
	answer := Lineage{Blob: c.ref.Blob, Snapshots: []LineageEntry{}}
	if found.Base != nil {
		answer.Base = new(lineageEntry(found.Base))
	}
	for _, e := range found.Snapshots {
		answer.Snapshots = append(answer.Snapshots, lineageEntry(e))
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return c.answerBytes(http.StatusOK, "application/json", data)
}

func lineageEntry(e *catalog.LineageEntry) LineageEntry {
	entry := LineageEntry{ETag: e.ETag(), Modified: e.Modified(), Size: e.Size, Own: e.Own}
	if e.IsSnapshot() {
		entry.Snapshot, entry.Of = e.Snapshot.String(), e.Of.ETag()
	}
	entry.RestoredFrom = e.RestoredFrom.String()
	if e.Expires != nil {
		entry.Expires = new(e.Expires.Time())
	}
	return entry
}
