package etcd

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/cas"
)

// What is written is read back, and what was not written by this store never passes
// for a lease.
func FuzzDecodeItem(f *testing.F) {
	now := time.UnixMilli(1_800_000_000_000)
	row := machine.Row{
		Resource: "r", Holder: "h", ID: leasehold.NewID(), Former: leasehold.NewID(), Handed: true, Token: 7,
		State: leasehold.StateActive, TTL: 1500 * time.Millisecond, Ends: machine.Time(now.Add(2 * time.Second).UnixNano()),
		Acquired: 1, Renewed: 2, Renewals: 3, MaxRenewals: 4, Metadata: map[string]string{"k": "v"}, Caller: "c",
	}
	text := encodeValue(cas.Write{Row: row, Marks: []string{"m"}}, 2)
	item, err := decodeItem(&mvccpb.KeyValue{Value: []byte(text), ModRevision: 9, Lease: 5}, "r", 100, now)
	if err != nil {
		f.Fatal(err)
	}
	if diff := cmp.Diff(row, item.Row); diff != "" {
		f.Errorf("the row read back (-want +got):\n%s", diff)
	}
	if got := decodeVersion(item.Version); got != (version{9, 5, 2}) {
		f.Errorf("version = %+v", got)
	}
	f.Add([]byte(text))
	f.Add([]byte(`{"state":"active","leaseId":"x"}`))
	f.Add([]byte(`{"state":"active","leaseId":"00000000-0000-4000-8000-000000000001","holder":"h","formerId":"x"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		item, err := decodeItem(&mvccpb.KeyValue{Value: b, ModRevision: 9, Lease: 5}, "r", 100, now)
		if err != nil {
			return
		}
		row := item.Row
		if !row.State.Locked() || row.Holder == "" || row.ID.IsZero() || row.Token == 0 || row.Token > leasehold.MaxToken || row.Ends < machine.Time(now.UnixNano()) {
			t.Errorf("%q is read as %+v", b, row)
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	r := leasehold.Record{Kind: leasehold.KindAcquired, Resource: "r", Holder: "h", At: time.UnixMilli(5).UTC(), After: leasehold.StateActive}
	text := encodeRecord(100, "m", cas.Record{Record: r, Kept: true})
	got, err := decodeRecord(&mvccpb.KeyValue{Value: []byte(text), CreateRevision: 9})
	if err != nil {
		f.Fatal(err)
	}
	r.Seq, r.Token = 3, 109
	if diff := cmp.Diff(r, got.public(3)); diff != "" {
		f.Errorf("the record read back (-want +got):\n%s", diff)
	}
	f.Add([]byte(text))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decodeRecord(&mvccpb.KeyValue{Value: b, CreateRevision: 9}); err == nil && r.Kind == "" {
			t.Errorf("%q is read as a record of nothing", b)
		}
	})
}

func FuzzParseCursor(f *testing.F) {
	f.Add(cursor(17))
	f.Add("11-")
	f.Add(strings.Repeat("f", 40))
	f.Fuzz(func(t *testing.T, text string) {
		seq, err := parseCursor(text)
		if err == nil && text != "" && cursor(seq) != text {
			t.Errorf("parseCursor(%q) = %d, whose cursor is %q", text, seq, cursor(seq))
		}
	})
}

func TestDue(t *testing.T) {
	at := func(kind leasehold.Kind, ages ...int) (records []leasehold.Record) {
		for _, age := range ages {
			records = append(records, leasehold.Record{Kind: kind, At: time.Unix(int64(1000-age), 0)})
		}
		return records
	}
	for _, c := range []struct {
		records []leasehold.Record
		tooMany int64
		want    int
	}{
		{nil, 0, 0},
		{at(leasehold.KindAcquired, 30, 20, 5), 0, 2},
		{at(leasehold.KindAcquired, 5, 4, 3), 1, 0}, // the record of the purge would be one more
		{at(leasehold.KindAcquired, 5, 4, 3), 2, 2},
		{at(leasehold.KindAcquired, 5, 4, 3), 9, 3},
		{at(leasehold.KindPurged, 30), 0, 0},
		{at(leasehold.KindPurged, 30, 20), 0, 2},
	} {
		if got := due(c.records, time.Unix(990, 0), c.tooMany); got != c.want {
			t.Errorf("due(%d records, %d too many) = %d, want %d", len(c.records), c.tooMany, got, c.want)
		}
	}
}

func TestWholeSeconds(t *testing.T) {
	for ttl, want := range map[time.Duration]int64{
		time.Second: 1, time.Second + time.Millisecond: 2, 1500 * time.Millisecond: 2, leasehold.MaxTTL: maxSeconds - 1,
	} {
		if got := wholeSeconds(ttl); got != want {
			t.Errorf("wholeSeconds(%v) = %d, want %d", ttl, got, want)
		}
	}
}

// Settings that are moved are whole numbers and truth values, or nothing.
func FuzzDecodeSettings(f *testing.F) {
	got, err := decodeSettings(`{"max_renewals":9007199254740993,"keep_history":true}`)
	if diff := cmp.Diff(map[string]any{"max_renewals": int64(9007199254740993), "keep_history": true}, got); err != nil || diff != "" {
		f.Errorf("decodeSettings: %v (-want +got):\n%s", err, diff)
	}
	f.Add(`{"a":1.5}`)
	f.Add(`{"a":-1}`)
	f.Add(`[]`)
	f.Add(``)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decodeSettings(text)
		for key, v := range got {
			switch v.(type) {
			case int64, bool:
			default:
				t.Errorf("%q: %q is a %T, %v", text, key, v, err)
			}
		}
	})
}
