package redis

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client logs each failed connection, and many fail here
	goleak.VerifyTestMain(m)
}

// leastPermissions are those of docs/stores/redis.md.
const leastPermissions = "~lease:* ~leaseid:* ~leasecaller:* ~{lease:* ~{leases}:* &leases:freed " +
	"-@all +@connection +evalsha +eval +subscribe +unsubscribe +publish +time +exists +get +set +del +rename " +
	"+hget +hset +hgetall +hdel +hmget +pexpire +pexpireat +persist +pttl +incr " +
	"+zadd +zrem +zcard +zcount +zscore +zrangebyscore +zrangebylex +zremrangebyscore " +
	"+xadd +xlen +xrange +xrevrange +xtrim"
