package catalog_test

import "testing"

func TestServiceProperties(t *testing.T) {
	h := newHouse(t)
	if got, err := h.ServiceProperties(t.Context(), "acct"); err != nil || got != nil {
		t.Errorf("ServiceProperties, never set = %q, %v", got, err)
	}
	for _, want := range []string{`{"a":1}`, `{"a":2}`} {
		if err := h.SetServiceProperties(t.Context(), "acct", []byte(want)); err != nil {
			t.Fatal(err)
		}
		h.reopen()
		if got, err := h.ServiceProperties(t.Context(), "acct"); err != nil || string(got) != want {
			t.Errorf("ServiceProperties = %q, %v, want %q", got, err, want)
		}
	}
	if got, err := h.ServiceProperties(t.Context(), "other"); err != nil || got != nil {
		t.Errorf("ServiceProperties of another account = %q, %v", got, err)
	}
}
