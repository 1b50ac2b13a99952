package tagquery

import "regexp"

// Azure's limits on the tags of a blob, and on those that an expression names.
const (
	MaxTags  = 10
	MaxKey   = 128
	MaxValue = 256
)

// tagText is what keys and values are made of.
var tagText = regexp.MustCompile(`^[A-Za-z0-9 +\-./:=_]*$`)

// Valid reports whether a tag can have this name and value.
func Valid(key, value string) bool {
	return key != "" && len(key) <= MaxKey && len(value) <= MaxValue && tagText.MatchString(key) && tagText.MatchString(value)
}
