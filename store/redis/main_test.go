package redis

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client logs each failed connection, and many fail here
	// The proxy forgets a goroutine when it is healed or stopped while data passes.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"))
}
