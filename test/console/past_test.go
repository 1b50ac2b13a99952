package console

import (
	"fmt"
	"net/url"
	"testing"
	"time"
)

// Pages as of a moment show who held it then, and lead back to now.
func TestTimeTravel(t *testing.T) {
	s := start(t, nil)
	id := s.acquire("deploy", "ci:1", 600, nil)
	s.acquire("other", "ci:1", 600, nil)
	untilNextSecond()
	then := time.Now().UTC().Truncate(time.Second)
	untilNextSecond()
	s.release(id)
	s.acquire("deploy", "ci:2", 600, nil)

	b := s.open("/console/resource?name=deploy")
	b.shows("#now", "ci:2")
	b.fill("#at", then.Format("2006-01-02T15:04:05"))
	b.submit(".moment button")
	b.shows(".past", "As of "+then.Format("2006-01-02 15:04:05"))
	b.shows("#now", "ci:1")
	b.shows(".note", "The history that is kept begins at")
	if eval[bool](b, `'live' in document.documentElement.dataset || document.body.dataset.stream !== undefined`) {
		t.Error("a page of the past has live updates")
	}
	if eval[bool](b, `!!document.querySelector('details.danger')`) {
		t.Error("a page of the past has a dangerous button")
	}
	b.submit(".brand") // the moment goes along
	b.shows("h1", "Leases")
	names := `[...document.querySelectorAll('#rows tr')].map((r) => r.dataset.name + ' ' + r.cells[1].innerText).join(', ')`
	if got, want := eval[string](b, names), "deploy ci:1, other ci:1"; got != want {
		t.Errorf("the table as of then shows %q, want %q", got, want)
	}
	b.submit(".past .button")
	b.live()
	if got, want := eval[string](b, names), "deploy ci:2, other ci:1"; got != want {
		t.Errorf("the table shows %q, want %q", got, want)
	}
	b.visit("/console/holder?" + url.Values{"name": {"ci:2"}, "at": {then.Format(time.RFC3339)}}.Encode())
	b.shows("#held", "It held nothing")
	b.visit("/console/?at=" + fmt.Sprint(then.Year()-1) + "-01-01T00:00:00Z")
	b.shows(".note", "before the history that is kept")
	b.visit("/console/?at=yesterday")
	b.shows(".problem", "is no time")
}

// untilNextSecond waits for one: people choose whole seconds.
func untilNextSecond() {
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1050 * time.Millisecond)))
}
