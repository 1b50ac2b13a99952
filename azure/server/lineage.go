package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/leasehold/leasehold/azure/catalog"
)

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
	Of           string     `json:"of_etag,omitempty"`       // the blob's ETag when the snapshot was taken
	RestoredFrom string     `json:"restored_from,omitempty"` // the snapshot that the content is a copy of
	Expires      *time.Time `json:"expires,omitempty"`
}

// lineage tells where a blob's snapshots come from, what they cost, and when
// they go.
func (s *Server) lineage(c *call) error {
	found, err := s.catalog.Lineage(c.r.Context(), c.ref)
	if err != nil {
		return err
	}
	answer := Lineage{Blob: c.ref.Blob, Snapshots: []LineageEntry{}}
	if found.Base != nil {
		base := lineageEntry(found.Base)
		answer.Base = &base
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
		at := e.Expires.Time()
		entry.Expires = &at
	}
	return entry
}
