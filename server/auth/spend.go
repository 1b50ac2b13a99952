package auth

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

type rateKey struct{}

func withRate(ctx context.Context, l *rate.Limiter) context.Context {
	return context.WithValue(ctx, rateKey{}, l)
}

// AllowOperation counts one more request against the rate of the context's caller, or
// says when there is room for it again. The guard has counted the request
// itself; a door whose request stands for several counts the others.
func AllowOperation(ctx context.Context) (wait time.Duration, ok bool) {
	l, known := ctx.Value(rateKey{}).(*rate.Limiter)
	if !known {
		return 0, true
	}
	return allow(l)
}
