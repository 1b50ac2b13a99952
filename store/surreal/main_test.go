package surreal

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The proxy forgets goroutines when it is healed or stopped while data passes.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/stream.(*ChanWriter).Write"))
}
