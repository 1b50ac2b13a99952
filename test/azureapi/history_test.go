package azureapi_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// One blob with an infinite lease that comes and goes, as a model that one
// client at a time would see. Nothing in it depends on the time, so a history is
// right if its requests can be put in one order, each between its beginning and
// its end, in which the model gives all of the answers. A write that the holder
// of an active lease has not made, and that took effect, fits in no such order:
// a later read, or a refusal in its time, contradicts it.
type (
	blobState struct {
		id      string // on record; "" is none
		broken  bool
		content string
	}
	blobRequest struct {
		blob int
		verb string // acquire, release, break, write, read
		id   string
		text string // written
	}
	blobAnswer struct {
		code string // "" is success
		text string // read
	}
)

// step is the model: whether the answer is the one to the request, and the state
// after it.
func (s blobState) step(r blobRequest, a blobAnswer) (bool, blobState) {
	held := s.id != "" && !s.broken
	switch r.verb {
	case "acquire":
		if held && s.id != r.id {
			return a.code == "LeaseAlreadyPresent", s
		}
		s.id, s.broken = r.id, false
	case "release":
		if s.id != r.id {
			return a.code == "LeaseIdMismatchWithLeaseOperation", s
		}
		s.id, s.broken = "", false
	case "break":
		if s.id == "" {
			return a.code == "LeaseNotPresentWithLeaseOperation", s
		}
		s.broken = true
	case "write":
		if code := s.refusal(r.id); code != "" {
			return a.code == code, s
		}
		if !held {
			s.id, s.broken = "", false // a write puts an end to what is left of a lease
		}
		s.content = r.text
	case "read":
		return a.code == "" && a.text == s.content, s
	}
	return a.code == "", s
}

// refusal is the code that a write with this id is refused with.
func (s blobState) refusal(id string) string {
	held := s.id != "" && !s.broken
	switch {
	case held && id == "":
		return "LeaseIdMissing"
	case held && id != s.id:
		return "LeaseIdMismatchWithBlobOperation"
	case !held && id != "":
		return "LeaseNotPresentWithBlobOperation"
	}
	return ""
}

var blobModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		var parts [][]porcupine.Operation
		for _, o := range history {
			n := o.Input.(blobRequest).blob
			for len(parts) <= n {
				parts = append(parts, nil)
			}
			parts[n] = append(parts[n], o)
		}
		return parts
	},
	Init: func() any { return blobState{content: "first"} },
	Step: func(state, input, output any) (bool, any) {
		return state.(blobState).step(input.(blobRequest), output.(blobAnswer))
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v = %+v", input, output) },
}

// try sends the request.
func (r blobRequest) try(d driver) blobAnswer {
	d.Helper()
	path := d.path("b" + strconv.Itoa(r.blob))
	var headers []string
	if r.id != "" {
		headers = []string{"x-ms-lease-id", r.id}
	}
	var got reply
	switch r.verb {
	case "read":
		got = d.signed("GET", path, "")
		return blobAnswer{got.code(), got.body}
	case "write":
		got = d.signed("PUT", path, r.text, append(headers, "x-ms-blob-type", "BlockBlob")...)
	case "acquire":
		got = d.signed("PUT", path+"?comp=lease", "", "x-ms-lease-action", r.verb, "x-ms-lease-duration", "-1", "x-ms-proposed-lease-id", r.id)
	default:
		got = d.signed("PUT", path+"?comp=lease", "", append(headers, "x-ms-lease-action", r.verb, "x-ms-lease-break-period", "0")...)
	}
	return blobAnswer{code: got.code()}
}

// record has clients use a few blobs, and keeps what they see.
func record(d driver, blobs, clients, requests int) []porcupine.Operation {
	d.Helper()
	var mu sync.Mutex
	var history []porcupine.Operation
	began := time.Now()
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(client), 1))
			names := []string{leaseIDs["A"], leaseIDs["B"], leaseIDs["C"]}
			own := names[client%len(names)]
			for i := range requests {
				r := blobRequest{blob: dice.IntN(blobs), id: own}
				switch n := dice.IntN(100); {
				case n < 15:
					r.verb = "acquire"
				case n < 25:
					r.verb = "release"
				case n < 32:
					r.verb, r.id = "break", ""
				case n < 80:
					r.verb, r.text = "write", fmt.Sprint(client, "/", i)
					if n < 56 {
						r.id = ""
					}
				default:
					r.verb, r.id = "read", ""
				}
				o := porcupine.Operation{ClientId: client, Input: r, Call: int64(time.Since(began))}
				o.Output = r.try(d)
				o.Return = int64(time.Since(began))
				mu.Lock()
				history = append(history, o)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return history
}

// TestNoWriteWithoutTheLease: writers with and without the id, while the lease
// is acquired, released and broken.
func TestNoWriteWithoutTheLease(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	const blobs = 4
	for i := range blobs {
		d.upload("b"+strconv.Itoa(i), "first", nil)
	}
	history := record(d, blobs, 16, 100)
	codes := map[string]int{}
	for _, o := range history {
		codes[strings.TrimSpace(o.Input.(blobRequest).verb+" "+o.Output.(blobAnswer).code)]++
	}
	for _, want := range []string{"acquire", "acquire LeaseAlreadyPresent", "release", "break", "write", "write LeaseIdMissing", "write LeaseIdMismatchWithBlobOperation", "write LeaseNotPresentWithBlobOperation", "read"} {
		if codes[want] == 0 {
			t.Errorf("the history has no %q: %v", want, codes)
		}
	}
	t.Logf("%d requests: %v", len(history), codes)
	if got := porcupine.CheckOperationsTimeout(blobModel, history, 5*time.Minute); got != porcupine.Ok {
		t.Errorf("the history is %s", got)
	}
}

// TestTheModelCatchesWrites: a history in which somebody wrote without the lease
// is not taken for a right one.
func TestTheModelCatchesWrites(t *testing.T) {
	t.Parallel()
	acquire := porcupine.Operation{ClientId: 1, Input: blobRequest{verb: "acquire", id: leaseIDs["A"]}, Call: 0, Return: 1, Output: blobAnswer{}}
	write := porcupine.Operation{ClientId: 2, Input: blobRequest{verb: "write", text: "mine"}, Call: 2, Return: 3, Output: blobAnswer{}}
	refused := write
	refused.Output = blobAnswer{code: "LeaseIdMissing"}
	read := porcupine.Operation{ClientId: 2, Input: blobRequest{verb: "read"}, Call: 4, Return: 5, Output: blobAnswer{text: "mine"}}
	before := read
	before.Output = blobAnswer{text: "first"}
	early := write
	early.Call, early.Return = 0, 3 // it may have been before the lease
	for name, tt := range map[string]struct {
		history []porcupine.Operation
		right   bool
	}{
		"refused":                           {[]porcupine.Operation{acquire, refused, before}, true},
		"written under a lease":             {[]porcupine.Operation{acquire, write}, false},
		"refused, and written all the same": {[]porcupine.Operation{acquire, refused, read}, false},
		"at the same time":                  {[]porcupine.Operation{acquire, early, read}, true},
	} {
		if got := porcupine.CheckOperations(blobModel, tt.history); got != tt.right {
			t.Errorf("%s: the checker says %v, want %v", name, got, tt.right)
		}
	}
}
