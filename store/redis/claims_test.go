package redis

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/leasehold/leasehold/store/internal/claimless"
)

// refusingHook fails a test whose own calls come to the client. Those of the store's
// work in the background do not count.
type refusingHook struct{ t *testing.T }

type ownCall struct{}

func (h refusingHook) refuse(ctx context.Context, what string) error {
	if ctx.Value(ownCall{}) != nil {
		h.t.Errorf("the store sends %s", what)
	}
	return errors.New("there is no server")
}

func (h refusingHook) DialHook(redis.DialHook) redis.DialHook {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		return nil, h.refuse(ctx, "a call to "+addr)
	}
}

func (h refusingHook) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := h.refuse(ctx, cmd.Name())
		cmd.SetErr(err)
		return err
	}
}

func (h refusingHook) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := h.refuse(ctx, "a pipeline")
		for _, cmd := range cmds {
			cmd.SetErr(err)
		}
		return err
	}
}

// TestClaims, notes and paths are refused before the server is called.
func TestClaims(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	client.AddHook(refusingHook{t})
	s, err := New(client, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	claimless.Check(context.WithValue(t.Context(), ownCall{}, true), t, s, "redis")
}
