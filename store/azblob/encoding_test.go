package azblob

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// FuzzName: the encoding of a name is reversible, valid, short enough, and keeps
// order and prefixes.
func FuzzName(f *testing.F) {
	for _, name := range []string{"a", "db/orders", "..", "%2F", "é", "😀", " ", "A", "~", "-2F", "lease:a", "/", "\x7f"} {
		f.Add(name, "a")
		f.Add("a", name)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := encodeName(a), encodeName(b)
		if got, ok := decodeName(x); !ok || got != a {
			t.Errorf("decodeName(%q) = %q, %v; want %q", x, got, ok, a)
		}
		if strings.Trim(x, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~-=") != "" {
			t.Errorf("encodeName(%q) = %q, which is no safe name of a blob", a, x)
		}
		if len(a) <= MaxResource && maxPrefix+len(x)+len(breakSuffix) > maxBlobName {
			t.Errorf("encodeName(%q) has %d characters", a, len(x))
		}
		if strings.Compare(a, b) != strings.Compare(x, y) {
			t.Errorf("%q and %q are encoded as %q and %q, in another order", a, b, x, y)
		}
		if strings.HasPrefix(a, b) && !strings.HasPrefix(x, y) {
			t.Errorf("%q begins with %q, but %q not with %q", a, b, x, y)
		}
		if name, ok := decodeName(a); ok && encodeName(name) != a {
			t.Errorf("decodeName(%q) = %q, which is encoded otherwise", a, name)
		}
	})
}

// FuzzRecord: the encoding of a record is reversible, valid and within the
// service's limits.
func FuzzRecord(f *testing.F) {
	f.Add("r", "h", "host", "a", "Odd.Key_1-", "'; --\n\x00 é 🔑")
	f.Add("%", " ", "a", "", "A", "%")
	f.Add(strings.Repeat("😀", MaxResource/4), strings.Repeat("é", leasehold.MaxHolder/2), "k", strings.Repeat("é", 512), "m_x", " v ")
	f.Fuzz(func(t *testing.T, resource, holder, key1, value1, key2, value2 string) {
		metadata := map[string]string{key1: value1, key2: value2}
		if leasehold.CheckResource(resource) != nil || checkName(resource) != nil || leasehold.CheckHolder(holder) != nil || leasehold.CheckMetadata(metadata) != nil {
			t.Skip("the fuzzer drew no valid input")
		}
		at := time.Date(2026, 11, 16, 12, 0, 0, 123e6, time.UTC)
		r := record{resource: resource, holder: holder, token: 7, ttl: 20 * time.Second, acquired: at, renewed: at.Add(time.Second),
			renewals: 3, metadata: metadata, mark: newMark(), ended: len(holder)%2 == 0}
		encoded, content, err := r.encode()
		if err != nil {
			t.Fatalf("encode = %v, want success", err)
		}
		size := 0
		arrived := map[string]*string{}
		for k, v := range encoded {
			size += len(k) + len(*v)
			if *v == "" || strings.TrimFunc(*v, func(r rune) bool { return r > ' ' && r < 0x7f }) != "" {
				t.Errorf("%s has the value %q, which is not plain ASCII", k, *v)
			}
			if strings.TrimFunc(k, func(r rune) bool { return r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }) != "" || k[0] >= '0' && k[0] <= '9' {
				t.Errorf("%q is no identifier", k)
			}
			arrived[strings.ToUpper(k[:1])+k[1:]] = v // as HTTP has it
		}
		if size > maxBlobMetadata {
			t.Errorf("%d bytes of metadata", size)
		}
		got, err := decodeRecord(arrived)
		if err != nil {
			t.Fatalf("decodeRecord = %v, want success", err)
		}
		if content == nil && !maps.Equal(got.metadata, metadata) {
			t.Errorf("metadata = %q, want %q", got.metadata, metadata)
		}
		if got.resource != resource || got.holder != holder || got.token != 7 || got.ttl != r.ttl || got.renewals != 3 ||
			!got.acquired.Equal(at) || !got.renewed.Equal(r.renewed) || got.mark != r.mark || got.ended != r.ended || got.inContent != (content != nil) {
			t.Errorf("decodeRecord = %+v, want %+v", got, r)
		}
	})
}

// FuzzCursor: a cursor comes back, and nothing else is one.
func FuzzCursor(f *testing.F) {
	f.Add("marker", "after")
	f.Add("", "e30=")
	f.Fuzz(func(t *testing.T, marker, after string) {
		marker, after = strings.ToValidUTF8(marker, ""), strings.ToValidUTF8(after, "")
		want := cursor{Marker: marker, After: after}
		if got, ok := decodeCursor(encodeCursor(want)); !ok || got != want {
			t.Errorf("decodeCursor = %+v, %v; want %+v", got, ok, want)
		}
		if _, ok := decodeCursor(after); ok && after != "" {
			t.Errorf("decodeCursor(%q) is a cursor", after)
		}
	})
}

// TestForeignMetadata: what this store did not write is refused, because a token
// counted from nothing could repeat one.
func TestForeignMetadata(t *testing.T) {
	fine := func() map[string]*string {
		r := record{resource: "r", holder: "h", token: 1, ttl: time.Minute, acquired: time.Now(), mark: "m", metadata: map[string]string{"k": "v"}}
		m, _, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if _, err := decodeRecord(fine()); err != nil {
		t.Fatalf("decodeRecord = %v, want success", err)
	}
	for key, values := range map[string][]string{
		keyName: {"", "%", "%4", "%zz"}, keyHolder: {""}, keyToken: {"", "x", "0", "-1", "9007199254740992"},
		keyTTL: {"", "-2"}, keyAcquired: {"", "yesterday"}, keyRenewals: {"-1"}, keyRenewed: {"soon"}, "m_k": {"%"[:1] + "q1"}, "m__q": {"v"},
	} {
		for _, value := range values {
			m := fine()
			m[key] = &value
			if _, err := decodeRecord(m); err == nil {
				t.Errorf("decodeRecord with %s = %q is fine, want an error", key, value)
			}
		}
	}
	if r, err := decodeRecord(map[string]*string{"name": nil}); err == nil {
		t.Errorf("decodeRecord of nothing = %+v, want an error", r)
	}
}
