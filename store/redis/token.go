package redis

// TokenSource is asked for a token.
type TokenSource any

type tokenError struct{ error }
