package azureapi_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// leaseCall is a request that was answered, in a history of leases that end by
// themselves.
type leaseCall struct {
	verb            string // acquire, renew, release, break, write
	blob            int
	id              string
	asked, answered time.Duration
	lasts           time.Duration // acquire, renew: the lease; break: until it is broken
	code            string        // "" is success
}

// mayHaveWorked reports whether it worked, or its outcome is unknown.
func (e leaseCall) mayHaveWorked() bool { return e.code == "" || e.code == "OperationTimedOut" }

// hold is a time for which a lease certainly was active.
type hold struct {
	blob     int
	id       string
	from, to time.Duration
	expired  bool // nobody ended it
}

// holdsIn finds the times for which leases certainly were active: from the answer
// to an acquire or a renewal, to as long after its request as it lasts, or until a
// request that may have ended it.
func holdsIn(history []leaseCall) (holds []hold) {
	for i, got := range history {
		if got.code != "" || got.verb != "acquire" && got.verb != "renew" {
			continue
		}
		h := hold{blob: got.blob, id: got.id, from: got.answered, to: got.asked + got.lasts, expired: true}
		for j, end := range history {
			if j == i || !end.mayHaveWorked() || end.blob != h.blob || end.verb == "write" || end.answered < got.asked {
				continue
			}
			to := end.asked
			if end.verb == "break" {
				to += end.lasts
			}
			if to < h.to {
				h.to, h.expired = to, false
			}
		}
		holds = append(holds, h)
	}
	return holds
}

// violations are the writes that took effect while a lease was active whose id
// they did not show.
func violations(history []leaseCall) (found []string) {
	for _, h := range holdsIn(history) {
		for _, w := range history {
			if w.verb == "write" && w.code == "" && w.blob == h.blob && w.id != h.id && w.asked > h.from && w.answered < h.to {
				found = append(found, fmt.Sprintf("%+v during %+v", w, h))
			}
		}
	}
	return found
}

// TestNoWriteWhileALeaseLasts: the same as TestNoWriteWithoutTheLease with leases
// that end by themselves, on fake time.
func TestNoWriteWhileALeaseLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t)
		const blobs, clients, requests = 3, 8, 150
		for i := range blobs {
			d.upload("b"+strconv.Itoa(i), "first", nil)
		}
		var mu sync.Mutex
		var history []leaseCall
		began := time.Now()
		var group sync.WaitGroup
		for client := range clients {
			group.Go(func() {
				dice := rand.New(rand.NewPCG(uint64(client), 2))
				own := fmt.Sprintf("%08d-0000-4000-8000-000000000000", client)
				for range requests {
					time.Sleep(time.Duration(dice.Int64N(int64(12 * time.Second))))
					e := randomCall(dice, blobs, own)
					e.asked = time.Since(began)
					e.code = e.try(d)
					e.answered = time.Since(began)
					mu.Lock()
					history = append(history, e)
					mu.Unlock()
				}
			})
		}
		group.Wait()
		for _, what := range violations(history) {
			t.Error(what)
		}
		checkExpired(t, history)
	})
}

// checkExpired makes sure that the history has what it is about: strangers who
// wrote after leases had ended by themselves, and who were kept out before.
func checkExpired(t *testing.T, history []leaseCall) {
	t.Helper()
	expired, refused, after := 0, 0, 0
	for _, h := range holdsIn(history) {
		if !h.expired {
			continue
		}
		expired++
		for _, w := range history {
			if w.verb != "write" || w.blob != h.blob || w.id == h.id {
				continue
			}
			if w.code != "" && w.asked > h.from && w.answered < h.to {
				refused++
			}
			if w.code == "" && w.asked > h.to && w.asked < h.to+5*time.Second {
				after++
			}
		}
	}
	t.Logf("%d leases expired, %d writes were refused before that, %d done soon after", expired, refused, after)
	if expired < 10 || refused < 10 || after < 5 {
		t.Errorf("%d leases expired, %d writes were refused before that, %d done soon after; that proves little", expired, refused, after)
	}
}

func randomCall(dice *rand.Rand, blobs int, own string) leaseCall {
	e := leaseCall{blob: dice.IntN(blobs), id: own, lasts: time.Duration(15+dice.IntN(46)) * time.Second}
	switch n := dice.IntN(100); {
	case n < 20:
		e.verb = "acquire"
	case n < 25:
		e.verb, e.lasts = "renew", 15*time.Second // at least
	case n < 30:
		e.verb = "release"
	case n < 35:
		e.verb, e.lasts = "break", time.Duration(dice.IntN(20))*time.Second
	default:
		e.verb = "write"
		if n < 70 {
			e.id = ""
		}
	}
	return e
}

// try sends the request. It returns the code of the refusal.
func (e leaseCall) try(d driver) string {
	d.Helper()
	path, seconds := d.path("b"+strconv.Itoa(e.blob)), strconv.Itoa(int(e.lasts/time.Second))
	switch e.verb {
	case "write":
		headers := []string{"x-ms-blob-type", "BlockBlob"}
		if e.id != "" {
			headers = append(headers, "x-ms-lease-id", e.id)
		}
		return d.signed("PUT", path, "text", headers...).code()
	case "acquire":
		return d.signed("PUT", path+"?comp=lease", "", "x-ms-lease-action", e.verb, "x-ms-lease-duration", seconds, "x-ms-proposed-lease-id", e.id).code()
	case "break":
		return d.signed("PUT", path+"?comp=lease", "", "x-ms-lease-action", e.verb, "x-ms-lease-break-period", seconds).code()
	}
	return d.signed("PUT", path+"?comp=lease", "", "x-ms-lease-action", e.verb, "x-ms-lease-id", e.id).code()
}

// TestViolationsAreFound: the check sees a write that should not have been, and
// only that.
func TestViolationsAreFound(t *testing.T) {
	const s = time.Second
	got := leaseCall{verb: "acquire", id: "a", asked: 1 * s, answered: 2 * s, lasts: 20 * s}
	write := func(id string, at time.Duration) leaseCall {
		return leaseCall{verb: "write", id: id, asked: at, answered: at}
	}
	refused := write("", 5*s)
	refused.code = "LeaseIdMissing"
	elsewhere := write("", 5*s)
	elsewhere.blob = 1
	for name, c := range map[string]struct {
		history []leaseCall
		want    int
	}{
		"none":                  {[]leaseCall{got}, 0},
		"without the id":        {[]leaseCall{got, write("", 5*s)}, 1},
		"with another's":        {[]leaseCall{got, write("b", 20*s)}, 1},
		"with the id":           {[]leaseCall{got, write("a", 5*s)}, 0},
		"refused":               {[]leaseCall{got, refused}, 0},
		"another blob":          {[]leaseCall{got, elsewhere}, 0},
		"before":                {[]leaseCall{got, write("", 2*s)}, 0},
		"after its time":        {[]leaseCall{got, write("", 21*s)}, 0},
		"after a release":       {[]leaseCall{got, {verb: "release", id: "a", asked: 4 * s, answered: 4 * s}, write("", 5*s)}, 0},
		"before a release":      {[]leaseCall{got, {verb: "release", id: "a", asked: 6 * s, answered: 6 * s}, write("", 5*s)}, 1},
		"while it breaks":       {[]leaseCall{got, {verb: "break", asked: 3 * s, answered: 3 * s, lasts: 5 * s}, write("", 5*s)}, 1},
		"after it broke":        {[]leaseCall{got, {verb: "break", asked: 3 * s, answered: 3 * s, lasts: 5 * s}, write("", 9*s)}, 0},
		"after a shorter lease": {[]leaseCall{got, {verb: "acquire", id: "a", asked: 3 * s, answered: 3 * s, lasts: 2 * s}, write("", 6*s)}, 0},
		"after a break that may have come second": {[]leaseCall{{verb: "acquire", id: "a", asked: 1 * s, answered: 3 * s, lasts: 20 * s},
			{verb: "break", asked: 1500 * time.Millisecond, answered: 2 * s}, write("", 5*s)}, 0},
		"after a release that nobody knows of": {[]leaseCall{got, {verb: "release", id: "a", asked: 4 * s, answered: 4 * s, code: "OperationTimedOut"}, write("", 5*s)}, 0},
		"after a refused release":              {[]leaseCall{got, {verb: "release", id: "b", asked: 4 * s, answered: 4 * s, code: "x"}, write("", 5*s)}, 1},
		"once renewed":                         {[]leaseCall{got, {verb: "renew", id: "a", asked: 9 * s, answered: 9 * s, lasts: 15 * s}, write("", 22*s)}, 1},
	} {
		if found := violations(c.history); len(found) != c.want {
			t.Errorf("%s: found %q, want %d", name, found, c.want)
		}
	}
}
