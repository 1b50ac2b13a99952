package remote

import (
	"errors"
	"fmt"
	"io"

	"github.com/leasehold/leasehold"
)

const kind = "remote" // the store's kind in errors that did not come from the server

var errClosed = errors.New("the client is closed")

var (
	_ leasehold.Store          = (*Store)(nil)
	_ leasehold.Waiter         = (*Store)(nil)
	_ leasehold.Breaker        = (*Store)(nil)
	_ leasehold.Changer        = (*Store)(nil)
	_ leasehold.Transferer     = (*Store)(nil)
	_ leasehold.Finder         = (*Store)(nil)
	_ leasehold.Lister         = (*Store)(nil)
	_ leasehold.HolderReleaser = (*Store)(nil)
	_ leasehold.Historian      = (*Store)(nil)
	_ leasehold.Cleaner        = (*Store)(nil)
	_ leasehold.Configurer     = (*Store)(nil)
	_ leasehold.Watcher        = (*Store)(nil)
	_ leasehold.Backuper       = (*Store)(nil)
)

// Store is a server's store, seen from here. It is safe for concurrent use.
//
// It has every power, because it cannot know in advance what the server's store
// lacks: what is lacking answers ErrUnsupported.
type Store struct {
	o         Options
	address   address
	transport *transport
	batcher   *batcher
	*work
}

// Open returns the store that a server serves at url: http:// or https://, with
// a path if the server's API is not at the root. It makes no connection yet.
func Open(url string, o *Options) (*Store, error) {
	full, err := o.withDefaults()
	if err != nil {
		return nil, explain("open", "", err)
	}
	a, err := parseURL(url)
	if err != nil {
		return nil, explain("open", "", err)
	}
	s := &Store{o: full, address: a, transport: newTransport(full, a), work: newWork()}
	s.batcher = &batcher{store: s}
	return s, nil
}

// Close ends waits and watches with ErrUnavailable and closes the connections,
// but not a client that was handed to Open. The server's store stays open. What
// callers have left behind is given back first, if the server answers soon.
func (s *Store) Close() error {
	s.batcher.close()
	s.work.close()
	s.transport.close()
	return nil
}

// Format prints where the server is, whatever the verb, and never the token.
func (s *Store) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "remote store at "+string(s.address))
}
