package leasehold

import "context"

type whyKey struct{}

// WithWhy returns a context that carries why an operator does something, for calls
// that have no field for it: SetSetting puts it into the Why of its history record.
func WithWhy(ctx context.Context, why string) context.Context {
	return context.WithValue(ctx, whyKey{}, why)
}

// WhyOf returns what WithWhy has put into the context.
func WhyOf(ctx context.Context) string {
	why, _ := ctx.Value(whyKey{}).(string)
	return why
}

// CheckWhy checks a reason that somebody gives against the limits.
func CheckWhy(why string) error { return checkWhy(why) }
