package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/server/internal/rest"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/wire"
)

const batchPath = "/v1/leases/batch"

// op is one operation as it is sent.
func op(name, request string) string {
	return `{"op":"` + name + `","request":` + request + `}`
}

func batchOf(operations ...string) string {
	return `{"operations":[` + strings.Join(operations, ",") + `]}`
}

// batch sends the operations and returns each answer as if it had come alone.
func (d *driver) batch(operations ...string) []reply {
	d.Helper()
	whole := d.send("POST", batchPath, batchOf(operations...))
	all := want[wire.BatchAnswer](whole, http.StatusOK).Answers
	if len(all) != len(operations) {
		d.Fatalf("a batch of %d has %d answers: %s", len(operations), len(all), whole.body)
	}
	replies := make([]reply, len(all))
	for i, a := range all {
		header := http.Header{"Content-Type": {"application/json"}, "X-Request-Id": whole.header["X-Request-Id"]}
		if a.Status >= 300 {
			header.Set("Content-Type", wire.ProblemType)
		}
		replies[i] = reply{d.T, operations[i], a.Status, header, a.Body}
	}
	return replies
}

// One of everything: each operation is answered as if it had come alone, and
// none hurts another.
func TestBatch(t *testing.T) {
	d := newDriver(t, nil, nil)
	held, renewed, released := d.acquire("held", "a"), d.acquire("renewed", "a"), d.acquire("released", "a")
	id := func(g wire.Grant) string { return `{"lease_id":"` + g.LeaseID + `"}` }
	all := d.batch(
		op("acquire", `{"resource":"new","holder":"b","ttl_seconds":60,"metadata":{"k":"v"}}`),
		op("acquire", `{"resource":"held","holder":"b"}`),
		op("renew", id(renewed)),
		` { "request" : `+id(released)+` , "op" : "release" } `,
		op("acquire", `{"resource":"held","holder":"a","lease_id":"`+held.LeaseID+`"}`),
		op("release", `{"lease_id":"`+otherID+`"}`),
		op("acquire", `{"resource":"new2","holder":"b","colour":"red"}`),
		op("acquire", `{"resource":"","holder":"b"}`),
		op("acquire", `{"resource":"blob:x","holder":"b"}`),
		op("renew", `{"lease_id":"nonsense"}`),
		op("acquire", `{"resource":"new3","holder":"b","timeout_ms":0}`),
	)
	g := want[wire.Grant](all[0], http.StatusCreated)
	if g.Resource != "new" || g.Holder != "b" || g.LeaseID == "" || g.Metadata["k"] != "v" {
		t.Errorf("acquire = %+v, want the grant", g)
	}
	p := all[1].wantProblem(http.StatusConflict, "lease_held")
	if p.Current == nil || p.Current.Holder != "a" || p.Current.LeaseID != "" || p.RetryAfter == nil || p.Operation != "acquire" {
		t.Errorf("acquire of what is held = %s, want who holds it, for how long", all[1].body)
	}
	if l := want[wire.Lease](all[2], http.StatusOK); l.Resource != "renewed" || l.Renewals != 1 {
		t.Errorf("renew = %+v, want the renewed lease", l)
	}
	if l := want[wire.Released](all[3], http.StatusOK); !l.Success || l.Status != "released" {
		t.Errorf("release = %+v, want the released lease", l)
	}
	if g := want[wire.Grant](all[4], http.StatusOK); !g.Idempotent || g.LeaseID != held.LeaseID {
		t.Errorf("acquire once more = %+v, want the same lease", g)
	}
	all[5].wantProblem(http.StatusNotFound, "lease_not_found")
	if p := all[6].wantProblem(http.StatusBadRequest, "invalid_argument"); p.Field != "colour" {
		t.Errorf("an unknown field = %s, want its name", all[6].body)
	}
	all[7].wantProblem(http.StatusBadRequest, "invalid_argument")
	all[8].wantProblem(http.StatusBadRequest, "invalid_argument")
	all[9].wantProblem(http.StatusBadRequest, "invalid_argument")
	want[wire.Grant](all[10], http.StatusCreated)
	if d.status("new2").Lease != nil || !d.status("new").Locked || d.status("released").Locked {
		t.Error("the store does not hold what was answered")
	}
}

// The operations of a batch are those that package wire names.
func TestBatchableCalls(t *testing.T) {
	d := newDriver(t, nil, nil)
	field, _ := reflect.TypeFor[wire.Operation]().FieldByName("Op")
	named := slices.Sorted(strings.SplitSeq(field.Tag.Get("enum"), ","))
	if got := slices.Sorted(maps.Keys(d.server.batchable)); !slices.Equal(got, named) {
		t.Errorf("the table lets a batch have %v, wire names %v", got, named)
	}
}

// A batch does not wait: one that did would make the others wait, too.
func TestBatchDoesNotWait(t *testing.T) {
	d := newDriver(t, nil, nil)
	for more, field := range map[string]string{`"blocking":true`: "blocking", `"timeout_ms":1`: "timeout_ms", `"blocking":true,"timeout_ms":0`: "blocking"} {
		r := d.batch(op("acquire", `{"resource":"r","holder":"a",`+more+`}`))[0]
		if p := r.wantProblem(http.StatusBadRequest, "invalid_argument"); p.Field != field || !strings.Contains(p.Problem, "call of its own") {
			t.Errorf("acquire with %s = %s, want %s refused", more, r.body, field)
		}
	}
	if d.status("r").Lease != nil {
		t.Error("a refused operation was granted a lease")
	}
}

// A batch that cannot be read as one changes nothing at all.
func TestBadBatches(t *testing.T) {
	d := newDriver(t, nil, nil)
	good := op("acquire", `{"resource":"r","holder":"a"}`)
	for _, c := range []struct{ body, field, problem string }{
		{`{}`, "operations", "is missing"},
		{``, "operations", "is missing"},
		{`{"operations":[]}`, "operations", "is empty"},
		{`{"operations":{}}`, "operations", "is an object; want a list"},
		{`{"operations":null}`, "operations", "is null; want a list"},
		{`{"operations":[` + good + `],"operations":[]}`, "operations", "twice"},
		{`{"operations":[` + good + `],"atomic":true}`, "atomic", "is no field of this call; it takes operations"},
		{batchOf(good, `7`), "operations[1]", "is a number; want an object"},
		{batchOf(good, `{}`), "operations[1].op", "is missing"},
		{batchOf(good, `{"op":"renew"}`), "operations[1].request", "is missing"},
		{batchOf(good, `{"request":{}}`), "operations[1].op", "is missing"},
		{batchOf(good, op("transfer", `{}`)), "operations[1].op", "wants acquire, renew or release"},
		{batchOf(good, `{"op":7,"request":{}}`), "operations[1].op", "wants acquire, renew or release"},
		{batchOf(good, op("renew", `[]`)), "operations[1].request", "is a list; want an object"},
		{batchOf(good, `{"op":"renew","request":{},"op":"renew"}`), "operations[1].op", "twice"},
		{batchOf(good, `{"op":"renew","request":{},"request":{}}`), "operations[1].request", "twice"},
		{batchOf(good, `{"op":"renew","request":{},"after":0}`), "operations[1].after", "is no field of an operation"},
		{batchOf(good) + `x`, "body", "is not valid JSON"},
		{batchOf(good)[:20], "body", "is not valid JSON"},
		{`[` + good + `]`, "body", "is a list; want an object"},
		{batchOf(strings.Repeat(good+",", wire.MaxOperations) + good), "operations", "more than 256"},
	} {
		r := d.send("POST", batchPath, c.body)
		p := r.wantProblem(http.StatusBadRequest, "invalid_argument")
		if p.Field != c.field || !strings.Contains(p.Problem, c.problem) {
			t.Errorf("%.80s = %s %s, want %s %s", c.body, p.Field, p.Problem, c.field, c.problem)
		}
	}
	d.send("POST", batchPath+"?x=1", batchOf(good)).wantProblem(http.StatusBadRequest, "invalid_argument")
	if d.status("r").Lease != nil {
		t.Error("a refused batch was granted a lease")
	}
}

// The largest batch passes, with the longest names and the most metadata; what
// is larger still is refused before it is read.
func TestLargeBatches(t *testing.T) {
	d := newDriver(t, nil, nil)
	metadata := make([]string, 8)
	for i := range metadata {
		metadata[i] = fmt.Sprintf(`"%d":"%s"`, i, strings.Repeat("v", 1023))
	}
	operations := make([]string, wire.MaxOperations)
	for i := range operations {
		operations[i] = op("acquire", fmt.Sprintf(`{"resource":"%01024d","holder":"%0256d","metadata":{%s}}`, i, i, strings.Join(metadata, ",")))
	}
	for _, r := range d.batch(operations...) {
		want[wire.Grant](r, http.StatusCreated)
	}
	huge := batchOf(op("acquire", `{"resource":"`+strings.Repeat("x", 4<<20)+`"}`))
	d.send("POST", batchPath, huge).wantProblem(http.StatusRequestEntityTooLarge, "too_large")
	d.send("POST", "/v1/leases/acquire", huge[:100<<10]).wantProblem(http.StatusRequestEntityTooLarge, "too_large")
}

// Each operation is authorized by itself.
func TestBatchOfANarrowToken(t *testing.T) {
	d := newDriver(t, nil, nil)
	foreign := d.acquire("other:x", "b:1")
	d.caller = auth.Caller{Name: "a", Roles: []auth.Role{auth.RoleHolder}, Holders: []string{"a:*"}, Resources: []string{"mine:*"}}
	own := d.acquire("mine:1", "a:1")
	all := d.batch(
		op("acquire", `{"resource":"mine:2","holder":"a:1"}`),
		op("acquire", `{"resource":"other:2","holder":"a:1"}`),
		op("renew", `{"lease_id":"`+own.LeaseID+`"}`),
		op("renew", `{"lease_id":"`+foreign.LeaseID+`"}`),
		op("release", `{"lease_id":"`+foreign.LeaseID+`"}`),
	)
	want[wire.Grant](all[0], http.StatusCreated)
	all[1].wantProblem(http.StatusForbidden, "forbidden")
	want[wire.Lease](all[2], http.StatusOK)
	all[3].wantProblem(http.StatusForbidden, "forbidden")
	if p := all[4].wantProblem(http.StatusForbidden, "forbidden"); strings.Contains(p.Detail, "other:x") {
		t.Errorf("release = %s tells whose lease it is", all[4].body)
	}
}

// A batch of n counts as n operations, and those beyond the rate are refused.
func TestBatchIsCounted(t *testing.T) {
	left := 2 // besides the one that the guard has counted
	seen := &recorder{}
	d := newDriver(t, nil, &Options{Observer: seen, AllowOperation: func(ctx context.Context) (time.Duration, bool) {
		if auth.From(ctx).Name != "local" {
			t.Errorf("the caller is %q, want local", auth.From(ctx).Name)
		}
		left--
		return 1500 * time.Millisecond, left >= 0
	}})
	var operations []string
	for i := range 5 {
		operations = append(operations, op("acquire", fmt.Sprintf(`{"resource":"r%d","holder":"a"}`, i)))
	}
	for i, r := range d.batch(operations...) {
		if i < 3 {
			want[wire.Grant](r, http.StatusCreated)
			continue
		}
		if p := r.wantProblem(http.StatusTooManyRequests, "rate_limited"); p.RetryAfter == nil || *p.RetryAfter != 1.5 || p.Operation != "acquire" {
			t.Errorf("operation %d = %s, want when to come back", i, r.body)
		}
		if d.status(fmt.Sprint("r", i)).Lease != nil {
			t.Errorf("operation %d was refused and done", i)
		}
	}
	counts := map[string]int{}
	for _, line := range seen.seen() {
		counts[line]++
	}
	for line, n := range map[string]int{
		"POST /v1/leases/acquire 201  batched": 3, "POST /v1/leases/acquire 429 rate_limited batched": 2, "POST /v1/leases/batch 200 ": 1,
	} {
		if counts[line] != n {
			t.Errorf("the observer saw %q %d times, want %d", line, counts[line], n)
		}
	}
	if n := strings.Count(d.log.String(), `route="POST /v1/leases/acquire"`); n != 5 {
		t.Errorf("the log has %d lines of operations, want 5", n)
	}
}

// FuzzBatch: whatever the strict reader takes, the standard one takes too, and
// reads the same.
func FuzzBatch(f *testing.F) {
	f.Add([]byte(batchOf(op("acquire", `{"resource":"r","holder":"a"}`), op("renew", `{"lease_id":"x"}`))))
	f.Add([]byte(` { "operations" : [ { "request" : {"a":[{}]} , "op" : "rel\u0065ase" } ] } `))
	f.Add([]byte(`{"operations":[{"op":"renew","request":{}},{}]}`))
	f.Add([]byte(`{"operations":[{"op":"renew","request":{},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":5}]}`))
	store := memory.New()
	f.Cleanup(func() { store.Close() })
	s := New(store, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		if rest.CheckObject(data) != nil {
			return
		}
		strict, err := decodeBatch(data, s.batchable)
		if err != nil {
			return
		}
		var standard struct { // without trace contexts, which may be anything
			Operations []struct {
				Op      string
				Request json.RawMessage
			}
		}
		if err := json.Unmarshal(data, &standard); err != nil {
			t.Fatalf("decodeBatch(%q) = nil, but the standard decoder says %v", data, err)
		}
		if len(strict) != len(standard.Operations) || len(strict) == 0 || len(strict) > wire.MaxOperations {
			t.Fatalf("decodeBatch(%q) has %d operations, want %d", data, len(strict), len(standard.Operations))
		}
		for i, o := range standard.Operations {
			if strict[i].endpoint.ID != o.Op || string(strict[i].body) != string(o.Request) {
				t.Fatalf("decodeBatch(%q)[%d] = %s %s, want %s %s", data, i, strict[i].endpoint.ID, strict[i].body, o.Op, o.Request)
			}
		}
	})
}
