package catalog

import "regexp"

// Azure's limits on the tags of a blob, and on those that an expression names.
const (
	MaxTags     = 10
	MaxTagKey   = 128
	MaxTagValue = 256
)

// tagText is what keys and values are made of.
var tagText = regexp.MustCompile(`^[A-Za-z0-9 +\-./:=_]*$`)

// ValidTag reports whether a tag can be called so and have this value.
func ValidTag(key, value string) bool {
	return key != "" && len(key) <= MaxTagKey && len(value) <= MaxTagValue && tagText.MatchString(key) && tagText.MatchString(value)
}
