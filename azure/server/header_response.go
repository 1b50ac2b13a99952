package server

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"strconv"

	"github.com/leasehold/leasehold/azure/catalog"
)

// setVersion sets the ETag and the time of the last change.
func setVersion(h http.Header, t catalog.Ticks) {
	h.Set("ETag", t.ETag())
	h.Set("Last-Modified", httpTime(t))
}

// setWritten sets what every answer to a write has.
func setWritten(h http.Header, i *catalog.Item) {
	setVersion(h, i.Ticks)
	h.Set("X-Ms-Request-Server-Encrypted", "true")
}

// setLease sets what everybody may know of a lease.
func setLease(h http.Header, v catalog.LeaseView) {
	setSome(h, "X-Ms-Lease-Status", v.Status)
	setSome(h, "X-Ms-Lease-State", v.State)
	setSome(h, "X-Ms-Lease-Duration", v.Duration)
}

// setItem sets all headers of a blob but Content-Length and the MD5, which depend
// on the range.
func setItem(h http.Header, i *catalog.Item) {
	setVersion(h, i.Ticks)
	setMetadata(h, i.Metadata)
	setContentHeaders(h, i.Headers)
	h.Set("Accept-Ranges", "bytes")
	h.Set("X-Ms-Blob-Type", i.Kind.String())
	h.Set("X-Ms-Creation-Time", httpTime(i.Created))
	h.Set("X-Ms-Server-Encrypted", "true")
	if i.IsSnapshot() {
		h.Set("X-Ms-Snapshot", i.Snapshot.String())
	} else {
		setLease(h, i.Lease)
	}
	setTier(h, i)
	if i.Copy != nil {
		setCopy(h, i.Copy)
	}
	if len(i.Tags) > 0 {
		h.Set("X-Ms-Tag-Count", strconv.Itoa(len(i.Tags)))
	}
	setKind(h, i)
}

// defaultType is the type of a blob whose writer named none.
const defaultType = "application/octet-stream"

// setContentHeaders sets the headers that a blob is served with, except for
// the MD5.
func setContentHeaders(h http.Header, b catalog.Headers) {
	if b.Untyped {
		h["Content-Type"] = nil // keeps net/http from guessing one
	} else {
		h.Set("Content-Type", cmp.Or(b.ContentType, defaultType))
	}
	setSome(h, "Content-Encoding", b.ContentEncoding)
	setSome(h, "Content-Language", b.ContentLanguage)
	setSome(h, "Content-Disposition", b.ContentDisposition)
	setSome(h, "Cache-Control", b.CacheControl)
}

// setKind sets what only append or page blobs have.
func setKind(h http.Header, i *catalog.Item) {
	switch i.Kind {
	case catalog.Append:
		h.Set("X-Ms-Blob-Committed-Block-Count", strconv.Itoa(i.Blocks))
		if i.Sealed {
			h.Set("X-Ms-Blob-Sealed", "true")
		}
	case catalog.Page:
		h.Set("X-Ms-Blob-Sequence-Number", strconv.FormatInt(i.Sequence, 10))
	}
}

func setTier(h http.Header, i *catalog.Item) {
	if i.Kind != catalog.Block && i.Tier == "" {
		return
	}
	h.Set("X-Ms-Access-Tier", cmp.Or(i.Tier, "Hot"))
	if i.Tier == "" {
		h.Set("X-Ms-Access-Tier-Inferred", "true")
	}
	if i.TierChanged != 0 {
		h.Set("X-Ms-Access-Tier-Change-Time", httpTime(i.TierChanged))
	}
}

func setCopy(h http.Header, k *catalog.Copied) {
	h.Set("X-Ms-Copy-Id", k.ID)
	h.Set("X-Ms-Copy-Source", k.Source)
	h.Set("X-Ms-Copy-Status", k.Status)
	h.Set("X-Ms-Copy-Progress", k.Progress)
	if k.Completed != 0 {
		h.Set("X-Ms-Copy-Completion-Time", httpTime(k.Completed))
	}
	setSome(h, "X-Ms-Copy-Status-Description", k.Incomplete)
}

func setSome(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

// httpTime is Format(http.TimeFormat), without parsing the layout each time.
func httpTime(t catalog.Ticks) string {
	at := t.Time()
	year, month, day := at.Date()
	hour, minute, second := at.Clock()
	b := make([]byte, 0, len(http.TimeFormat))
	b = append(append(b, at.Weekday().String()[:3]...), ',', ' ')
	b = append(appendTwo(b, day), ' ')
	b = append(append(b, month.String()[:3]...), ' ')
	b = append(appendTwo(appendTwo(b, year/100), year%100), ' ')
	b = append(appendTwo(b, hour), ':')
	b = append(appendTwo(b, minute), ':')
	return string(append(appendTwo(b, second), " GMT"...))
}

func appendTwo(b []byte, n int) []byte { return append(b, '0'+byte(n/10), '0'+byte(n%10)) }

func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
