package azblob

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// record is what the metadata of a resource's blob says.
type record struct {
	resource string
	holder   string
	token    uint64
	ttl      time.Duration
	acquired time.Time

	// renewed is when the last renewal restarted the ttl, or a little before.
	// Zero: the lease was not renewed, and the blob's last change is that time.
	renewed  time.Time
	renewals int
	metadata map[string]string

	// mark is the write's own: who lost the answer finds out by it.
	mark string

	// ended: the lease was released.
	ended bool

	// inContent: the caller's pairs are too large for metadata, and are the
	// blob's content.
	inContent bool
}

// The names of our own metadata. The caller's begin with pairPrefix.
const (
	keyName     = "name"
	keyHolder   = "holder"
	keyToken    = "token"
	keyTTL      = "ttl_ms"
	keyAcquired = "acquired"
	keyRenewed  = "renewed"
	keyRenewals = "renewals"
	keyMark     = "mark"
	keyEnded    = "released" // its value is yes
	keyContent  = "pairs"    // its value is contentPairs

	contentPairs = "content"
	yes          = "yes"
)

// maxBlobMetadata is what the service takes, in bytes of names and values.
const maxBlobMetadata = 8192

const timeFormat = "2006-01-02T15:04:05.000Z07:00"

func newMark() string { return rand.Text() }

// encode returns the blob's metadata, and its content where the pairs do not fit.
func (r *record) encode() (metadata map[string]*string, content []byte, err error) {
	pairs := map[string]string{
		keyName:     encodeValue(r.resource),
		keyHolder:   encodeValue(r.holder),
		keyToken:    strconv.FormatUint(r.token, 10),
		keyTTL:      strconv.FormatInt(milliseconds(r.ttl), 10),
		keyAcquired: r.acquired.UTC().Format(timeFormat),
		keyRenewals: strconv.Itoa(r.renewals),
		keyMark:     r.mark,
	}
	if !r.renewed.IsZero() {
		pairs[keyRenewed] = r.renewed.UTC().Format(timeFormat)
	}
	if r.ended {
		pairs[keyEnded] = yes
	}
	own := size(pairs)
	for k, v := range r.metadata {
		pairs[encodeKey(k)] = encodeValue(v)
	}
	r.inContent = size(pairs) > maxBlobMetadata
	if r.inContent {
		for k := range r.metadata {
			delete(pairs, encodeKey(k))
		}
		pairs[keyContent] = contentPairs
		if content, err = json.Marshal(r.metadata); err != nil {
			return nil, nil, err
		}
	}
	if own > maxBlobMetadata-len(keyContent)-len(contentPairs) { // no name and holder are so long
		return nil, nil, fmt.Errorf("%d bytes of metadata", own)
	}
	metadata = make(map[string]*string, len(pairs))
	for k, v := range pairs {
		metadata[k] = &v
	}
	return metadata, content, nil
}

func size(pairs map[string]string) int {
	n := 0
	for k, v := range pairs {
		n += len(k) + len(v)
	}
	return n
}

func milliseconds(ttl time.Duration) int64 {
	if ttl == leasehold.Infinite {
		return -1
	}
	return ttl.Milliseconds()
}

// decodeRecord reads a blob's metadata. Names arrive in any letter case. Metadata
// that this package did not write is an error: to count tokens from nothing could
// repeat one.
func decodeRecord(metadata map[string]*string) (record, error) {
	var r record
	pairs := lowered(metadata)
	d := recordDecoder{pairs: pairs}
	r.resource, r.holder = d.text(keyName), d.text(keyHolder)
	r.token = uint64(d.number(keyToken, 1, leasehold.MaxToken))
	r.ttl = time.Duration(d.number(keyTTL, -1, leasehold.MaxTTL.Milliseconds())) * time.Millisecond
	if r.ttl < 0 {
		r.ttl = leasehold.Infinite
	}
	r.acquired = d.time(keyAcquired)
	r.renewals = int(d.number(keyRenewals, 0, 1<<40))
	if pairs[keyRenewed] != "" {
		r.renewed = d.time(keyRenewed)
	}
	r.mark, r.ended = pairs[keyMark], pairs[keyEnded] == yes
	r.inContent = pairs[keyContent] == contentPairs
	r.metadata = d.callerPairs()
	return r, d.err
}

func lowered(metadata map[string]*string) map[string]string {
	pairs := make(map[string]string, len(metadata))
	for k, v := range metadata {
		if v != nil {
			pairs[strings.ToLower(k)] = *v
		}
	}
	return pairs
}

type recordDecoder struct {
	pairs map[string]string
	err   error
}

func (d *recordDecoder) fail(key string) {
	if d.err == nil {
		d.err = fmt.Errorf("the blob's metadata %q is not this store's", key)
	}
}

func (d *recordDecoder) text(key string) string {
	s, ok := decodeValue(d.pairs[key])
	if !ok || s == "" {
		d.fail(key)
	}
	return s
}

func (d *recordDecoder) number(key string, least, most int64) int64 {
	n, err := strconv.ParseInt(d.pairs[key], 10, 64)
	if err != nil || n < least || n > most {
		d.fail(key)
		return 0
	}
	return n
}

func (d *recordDecoder) time(key string) time.Time {
	t, err := time.Parse(timeFormat, d.pairs[key])
	if err != nil {
		d.fail(key)
	}
	return t.UTC()
}

func (d *recordDecoder) callerPairs() map[string]string {
	var own map[string]string
	for k, v := range d.pairs {
		if !strings.HasPrefix(k, pairPrefix) {
			continue
		}
		key, ok := decodeKey(k)
		value, fine := decodeValue(v)
		if !ok || !fine {
			d.fail(k)
			continue
		}
		if own == nil {
			own = map[string]string{}
		}
		own[key] = value
	}
	return own
}
