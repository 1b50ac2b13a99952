package mcp

import (
	"context"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Stream is one client on a pair of streams.
type Stream struct {
	Identity Identity
	In       io.Reader
	Out      io.Writer // gets the protocol, and nothing else

	// Keep lets the leases that the client still holds at the end live on until
	// their ttl. Otherwise they are released: nobody else knows their ids.
	Keep bool
}

// ServeStream serves the client until it closes In, or ctx ends. Both are a clean
// end: calls under way are cancelled, and then the client's leases released.
func (s *Server) ServeStream(ctx context.Context, stream Stream) error {
	if err := stream.Identity.Check(); err != nil {
		return err
	}
	held := newHeldLeases()
	ended := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx = withSession(ctx, &session{identity: stream.Identity, alive: ctx, held: held})
	err := s.protocol.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(stream.In), Writer: unclosed{stream.Out}})
	cancel()
	if !stream.Keep {
		s.releaseHeld(stream.Identity, held)
	}
	if ended.Err() != nil {
		return nil
	}
	return err
}

// unclosed keeps the protocol from closing a stream that it did not open.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
