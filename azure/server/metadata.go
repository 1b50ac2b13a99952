package server

import (
	"net/http"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/leasehold/leasehold/azure/azerr"
)

// maxMetadata is how many bytes names and values may have together.
const maxMetadata = 8 << 10

const metadataPrefix = "X-Ms-Meta-" // as net/http spells it

// metadataName is what can be the name of a property in C#, in ASCII.
var metadataName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// metadata reads the x-ms-meta headers; nil if there are none. Names come in
// lower case: the spelling that was sent is lost before the door sees it.
func (c *call) metadata() (map[string]string, error) {
	var found map[string]string
	size := 0
	for header, values := range c.r.Header {
		name, is := strings.CutPrefix(header, metadataPrefix)
		if !is {
			continue
		}
		value := strings.Join(values, ",")
		if err := checkMetadata(name, value); err != nil {
			return nil, err
		}
		if size += len(name) + len(value); size > maxMetadata {
			return nil, azerr.New(azerr.MetadataTooLarge)
		}
		if found == nil {
			found = map[string]string{}
		}
		found[strings.ToLower(name)] = value
	}
	return found, nil
}

func checkMetadata(name, value string) error {
	switch {
	case name == "":
		return azerr.New(azerr.EmptyMetadataKey)
	case !metadataName.MatchString(name):
		return azerr.New(azerr.InvalidMetadata)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return azerr.New(azerr.InvalidMetadata).With("The value of the metadata %q is not plain text.", name)
	}
	return nil
}

// setMetadata writes the x-ms-meta headers. They go out in lower case, because
// clients take their names as they come.
func setMetadata(h http.Header, metadata map[string]string) {
	for name, value := range metadata {
		h["x-ms-meta-"+name] = []string{value}
	}
}
