package sign

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAccounts(t *testing.T) {
	second := Account{Name: "leasehold2", Keys: [][]byte{[]byte("k1"), []byte("k2")}}
	all, err := NewAccounts(second, Development())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"devstoreaccount1": "devstoreaccount1", "leasehold2": "leasehold2", "leasehold2-secondary": "leasehold2",
		"leasehold3": "", "Leasehold2": "", "": "", "-secondary": "", "leasehold2-secondary-secondary": "",
	} {
		got, ok := all.Lookup(name)
		if got.Name != want || ok != (want != "") {
			t.Errorf("Lookup(%q) = %v, %v, want %q", name, got, ok, want)
		}
	}
	var names []string
	for _, a := range all.All() {
		names = append(names, a.Name)
	}
	if diff := cmp.Diff([]string{"devstoreaccount1", "leasehold2"}, names); diff != "" {
		t.Errorf("All() (-want +got):\n%s", diff)
	}
	if n := len(Development().Keys[0]); n != 64 {
		t.Errorf("the development key has %d bytes, want 64", n)
	}
}

func TestRefusedAccounts(t *testing.T) {
	key := [][]byte{[]byte("secretkey")}
	for name, list := range map[string][]Account{
		"short name":  {{Name: "ab", Keys: key}},
		"capitals":    {{Name: "Leasehold", Keys: key}},
		"secondary":   {{Name: "lease-secondary", Keys: key}},
		"no key":      {{Name: "leasehold", Keys: nil}},
		"three keys":  {{Name: "leasehold", Keys: [][]byte{{1}, {2}, {3}}}},
		"empty key":   {{Name: "leasehold", Keys: [][]byte{{1}, {}}}},
		"name twice":  {{Name: "leasehold", Keys: key}, {Name: "leasehold", Keys: key}},
		"second name": {{Name: "leasehold", Keys: key}, {Name: "", Keys: key}},
	} {
		got, err := NewAccounts(list...)
		if got != nil || err == nil || strings.Contains(err.Error(), "secretkey") {
			t.Errorf("%s: NewAccounts(%v) = %v, %v, want an error without the key", name, list, got, err)
		}
	}
}

func TestParseAccount(t *testing.T) {
	one, other := base64.StdEncoding.EncodeToString([]byte("first")), base64.StdEncoding.EncodeToString([]byte("second"))
	for text, want := range map[string][][]byte{
		"leasehold:" + one:               {[]byte("first")},
		"leasehold:" + one + ":" + other: {[]byte("first"), []byte("second")},
	} {
		got, err := ParseAccount(text)
		if err != nil || got.Name != "leasehold" || !cmp.Equal(got.Keys, want) {
			t.Errorf("ParseAccount(%q) = %v, %v, want its keys", text, got, err)
		}
	}
	for _, text := range []string{"", "leasehold", "leasehold:", "leasehold:secret!", "leasehold:" + one + ":" + one + ":" + one, ":" + one, "leasehold:" + one + ":"} {
		if _, err := ParseAccount(text); err == nil || strings.Contains(err.Error(), one) || strings.Contains(err.Error(), "secret") {
			t.Errorf("ParseAccount(%q) = %v, want an error without the key", text, err)
		}
	}
}

// No way of printing shows a key or a signature.
func TestNothingIsPrinted(t *testing.T) {
	account := Account{Name: "leasehold", Keys: [][]byte{[]byte("secretkey")}}
	grant, _, err := Parse(must("sv=2020-12-06&sr=b&sp=r&se=2026-03-02&sig=secretkey"))
	if err != nil {
		t.Fatal(err)
	}
	whole, _, err := Parse(must("sv=2020-12-06&ss=b&srt=o&sp=r&se=2026-03-02&sig=secretkey"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{"secretkey", "c2VjcmV0a2V5", "7365637265746b6579", "115 101 99"}
	for _, value := range []any{account, &account, []Account{account}, grant, *grant, whole} {
		var printed strings.Builder
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&printed, verb+"\n", value)
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		printed.Write(encoded)
		slog.New(slog.NewTextHandler(&printed, nil)).Info("x", "value", value)
		slog.New(slog.NewJSONHandler(&printed, nil)).Info("x", "value", value)
		for _, secret := range secrets {
			if strings.Contains(printed.String(), secret) {
				t.Errorf("printing %T shows %q:\n%s", value, secret, printed.String())
			}
		}
	}
	if got := fmt.Sprint(account, grant, whole); got != "account leasehold service SAS account SAS" {
		t.Errorf("Sprint() = %q", got)
	}
}
