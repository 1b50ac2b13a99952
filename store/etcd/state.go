package etcd

import (
	"encoding/json"

	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold/internal/move"
)

// storeState is what the key config/store has. Whatever is written needs the key to
// be as it was read.
type storeState struct {
	// Base is added to revisions to make tokens. It is set where leases came from
	// another store.
	Base uint64 `json:"base"`

	Move *storedMark `json:"move,omitempty"`

	revision int64            // of the key; zero: there is none
	leaving  clientv3.LeaseID // of the key config/leaving; zero: there is none
}

// storedMark is the mark of a move. Leaving stands as long as the key config/leaving,
// which is written in the same step, and which an etcd lease takes away. It never
// comes back without another revision of the mark.
type storedMark struct {
	ID    string     `json:"id"`
	State move.State `json:"state"`
	Peer  string     `json:"peer,omitempty"`
}

// mark is the store's part in a move, without the time for which Leaving stands.
func (s *storeState) mark() move.Mark {
	if s.Move == nil {
		return move.Mark{}
	}
	m := move.Mark{ID: s.Move.ID, State: s.Move.State, Peer: s.Move.Peer}
	if m.State == move.Leaving && s.leaving == 0 {
		m.State = move.Open
	}
	return m
}

// refuse says why nothing may be read or written, if so.
func (s *storeState) refuse(how access) error {
	if cause := s.mark().Refusal(how == writing); cause != nil {
		return unavailable(cause)
	}
	return nil
}

func (s *storeState) encode() string {
	text, _ := json.Marshal(s) // there is nothing in it that fails
	return string(text)
}
