package redis

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/leasehold/leasehold/internal/testserver"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client logs each failed connection, and many fail here
	goleak.VerifyTestMain(m, testserver.Leaks()...)
}
