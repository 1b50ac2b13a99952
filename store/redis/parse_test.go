package redis

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/lists"
	"github.com/redis/go-redis/v9"
)

// list is what a script returned, for the tables below.
type list = []any

// Answers that no script of ours gives are errors, never panics.
func TestStrangeAnswers(t *testing.T) {
	for what, bad := range map[string][]string{
		"nothing": nil, "too short": {"", "1", "2", ""},
		"no time": {"", "soon", "1", "", ""}, "no part of a second": {"", "1", "soon", "", ""},
		"half a pair": append([]string{"", "1", "2", "", ""}, make([]string, fieldCount+1)...),
	} {
		if _, err := parseAnswer(bad); err == nil {
			t.Errorf("parseAnswer of %s = success", what)
		}
	}
	if a, err := parseAnswer([]string{"", "1", "2", "", ""}); err != nil || a.row != nil || a.row.lease("r", a.now).Holder != "" {
		t.Errorf("parseAnswer without a lease = %+v, %v; want none", a, err)
	}
	none := list{}
	for what, bad := range map[string]any{
		"nothing": nil, "too short": list{"1"}, "no time": list{"x", "", int64(0), none},
		"names that are no number": list{"1", "", "0", none},
		"no entries":               list{"1", "", int64(0), "x"},
		"an entry that is none":    list{"1", "", int64(1), list{"x"}},
		"an entry without a lease": list{"1", "", int64(1), list{list{"r"}}},
		"half a pair":              list{"1", "", int64(1), list{make(list, fieldCount+2)}},
	} {
		if _, err := parseList(bad); err == nil {
			t.Errorf("parseList of %s = success", what)
		}
	}
	for what, bad := range map[string]any{
		"nothing": nil, "settings that are none": list{"1", "x", "", "", ""},
		"a number": list{"1", list{}, int64(1), "", ""}, "no time": list{"x", list{}, "", "", ""},
	} {
		if _, err := parseAdmission(bad); err == nil {
			t.Errorf("parseAdmission of %s = success", what)
		}
	}
	for what, bad := range map[string]any{
		"nothing": nil, "no time": list{"x", list{}, list{}}, "more names than times": list{"1", list{"r"}, list{}},
	} {
		if _, _, _, err := parseNames(bad); err == nil {
			t.Errorf("parseNames of %s = success", what)
		}
	}
	for what, bad := range map[string]any{"nothing": nil, "no count": list{"x", int64(1)}, "no time": list{int64(1), "x"}} {
		if _, _, err := parseEnds(bad); err == nil {
			t.Errorf("parseEnds of %s = success", what)
		}
	}
	good := map[string]any{"at": "1", "event": "acquired", "token": "1", "before": "available", "after": "active", "renewals": "0"}
	if _, err := parseRecord(redis.XMessage{ID: "1-0", Values: good}); err != nil {
		t.Errorf("parseRecord = %v, want success", err)
	}
	for field, bad := range map[string]string{"at": "x", "token": "-1", "before": "x", "after": "", "renewals": "x", "details": "{"} {
		values := map[string]any{}
		for k, v := range good {
			values[k] = v
		}
		values[field] = bad
		if _, err := parseRecord(redis.XMessage{ID: "1-0", Values: values}); err == nil {
			t.Errorf("parseRecord with %s %q = success", field, bad)
		}
	}
	if s := withStored(leasehold.Setting{Key: "k", Default: int64(5), Value: int64(5), Max: 9}, "x"); s.Value != int64(5) {
		t.Errorf("a stored setting that is no number = %v, want the default", s.Value)
	}
	if s := withStored(leasehold.Setting{Key: "k", Default: int64(5), Value: int64(5), Max: 9}, "10"); s.Value != int64(5) {
		t.Errorf("a stored setting out of range = %v, want the default", s.Value)
	}
}

// FuzzAnswers feeds the parsers anything that a server could say.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`["","1","2","granted","","x","h","1","active","1","1","1","-1"]`))
	f.Add([]byte(`["1","r",1,[["r","x","h","1","active","1","1","1","5"]]]`))
	f.Add([]byte(`["1",["r"],["2"]]`))
	f.Add([]byte(`["1",["max_leases","3"],"","",""]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		if json.Unmarshal(text, &v) != nil {
			return
		}
		v = integers(v)
		if a, err := parseAnswer(texts(v)); err == nil && a.row != nil {
			l := a.row.owned("r", a.now)
			if l.State.Locked() && l.Remaining == 0 {
				t.Errorf("a live lease has nothing left: %+v", l)
			}
		}
		_, _ = parseList(v)
		_, _ = parseAdmission(v)
		_, _, _, _ = parseNames(v)
		_, _, _ = parseEnds(v)
		if m, ok := v.(map[string]any); ok {
			_, _ = parseRecord(redis.XMessage{ID: "1-0", Values: m})
		}
	})
}

// integers are how the client reads numbers.
func integers(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	}
	return v
}

// FuzzCursor: only cursors that were given out are accepted.
func FuzzCursor(f *testing.F) {
	f.Add(lists.CursorOf("l", "r"))
	f.Add(lists.CursorOf("h", "12"))
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, c string) {
		if position, err := lists.ParseCursorOf("l", c); err == nil && lists.CursorOf("l", position) != c {
			t.Errorf("lists.ParseCursorOf(%q) = %q, which is spelled otherwise", c, position)
		}
		if seq, err := parseHistoryCursor(c); err == nil && lists.CursorOf("h", seq) != c {
			t.Errorf("parseHistoryCursor(%q) = %q, which is spelled otherwise", c, seq)
		}
	})
}

// FuzzKeys: keys of one resource share a slot, and no two resources share a key.
func FuzzKeys(f *testing.F) {
	f.Add("a", "a:token")
	f.Add("{a}", "%7Ba%7D")
	f.Add("a}:token", "a")
	back := strings.NewReplacer("%7B", "{", "%7D", "}", "%25", "%")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, prefix := range []string{"", "app:", "{app}"} {
			k := newKeyspace(prefix)
			key := k.lease(a)
			if name := strings.TrimPrefix(key, prefix+"lease:"); back.Replace(name) != a {
				t.Errorf("lease(%q) = %q, which is not reversible", a, key)
			}
			for _, of := range k.of(a) {
				if slotTag(of) != slotTag(key) {
					t.Errorf("%q and %q have different tags", of, key)
				}
				others := k.of(b)
				for _, other := range append(others[:], k.indexes()...) {
					if a != b && of == other {
						t.Errorf("resources %q and %q share the key %q", a, b, of)
					}
				}
			}
		}
	})
}

// slotTag is what a Cluster hashes of a key.
func slotTag(key string) string {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, closed := strings.Cut(rest, "}"); closed && tag != "" {
			return tag
		}
	}
	return key
}

func TestDrift(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	r := newRow(map[string]string{"leaseId": leasehold.NewID().Reveal(), "state": "active", "endsAt": "1100000", "ttlMs": "100000"})
	if l := r.owned("r", now); l.Remaining != 100*time.Second || !l.ExpiresAt.Equal(now.Add(99*time.Second)) {
		t.Errorf("%v remain until %v, want 100s and an end that is 1 %% sooner", l.Remaining, l.ExpiresAt)
	}
	if l := r.lease("r", now); !l.ExpiresAt.Equal(now.Add(100 * time.Second)) {
		t.Errorf("others see the end at %v, want it as it is", l.ExpiresAt)
	}
}
