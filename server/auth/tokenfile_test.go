package auth

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var sampleHash = hashText(hashOf("sample"))

func TestParse(t *testing.T) {
	d, err := parse([]byte("\ufeff"))
	if err == nil {
		t.Errorf("parse(byte order mark) = %v, want an error", d)
	}
	d, err = parse([]byte("# a comment\n\n \t\n" +
		`{"name":"a","roles":["holder","reader"],"holders":["x*"],"resources":["y"],"created":"2025-01-02T03:04:05Z","expires":"2026-01-02T03:04:05+01:00","hash":"` + sampleHash + `"}` + "\r\n" +
		`{"name":"b","roles":["operator"],"cert":"spiffe://b"}`))
	if err != nil {
		t.Fatalf("parse() = %v", err)
	}
	expires, _ := time.Parse(time.RFC3339, "2026-01-02T03:04:05+01:00")
	want := []row{
		{Token{
			Name: "a", Roles: []Role{RoleHolder, RoleReader}, Holders: []string{"x*"}, Resources: []string{"y"},
			Created: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC), Expires: &expires,
		}, hashOf("sample")},
		{Token: Token{Name: "b", Roles: []Role{RoleOperator}, Cert: "spiffe://b"}},
	}
	if diff := cmp.Diff(want, d.rows()); diff != "" {
		t.Errorf("parse() differs (-want +got):\n%s", diff)
	}
}

func TestParseNamesTheLine(t *testing.T) {
	good := `{"name":"good","roles":["reader"],"hash":"` + sampleHash + `"}`
	secret := newSecret()
	tests := []struct{ name, line, want string }{
		{"no JSON", `name = "x"`, "JSON object"},
		{"a list", `[]`, "JSON object"},
		{"no end", `{"name":"x",`, "no end"},
		{"bad JSON", `{"name":x}`, "invalid character"},
		{"two objects", `{"name":"x","roles":["reader"],"cert":"x"} {}`, "more than one"},
		{"text behind", `{"name":"x","roles":["reader"],"cert":"x"} # note`, "more than one"},
		{"unknown field", `{"name":"x","role":["reader"],"cert":"x"}`, `unknown field "role"`},
		{"no name", `{"roles":["reader"],"cert":"x"}`, "name is missing"},
		{"no roles", `{"name":"x","cert":"x"}`, "roles are missing"},
		{"unknown role", `{"name":"x","roles":["root"],"cert":"x"}`, `"root"`},
		{"wrong kind", `{"name":5,"roles":["reader"],"cert":"x"}`, "name cannot be a number"},
		{"empty holders", `{"name":"x","roles":["holder"],"holders":[],"cert":"x"}`, "holders is an empty list"},
		{"empty resources", `{"name":"x","roles":["holder"],"resources":[],"cert":"x"}`, "resources is an empty list"},
		{"bad time", `{"name":"x","roles":["reader"],"expires":"soon","cert":"x"}`, "soon"},
		{"year too far", `{"name":"x","roles":["reader"],"expires":"9999-12-31T23:59:59-23:00","cert":"x"}`, "9999"},
		{"neither hash nor cert", `{"name":"x","roles":["reader"]}`, "either a hash or a cert"},
		{"both", `{"name":"x","roles":["reader"],"cert":"x","hash":"` + sampleHash + `"}`, "either a hash or a cert"},
		{"hash without a prefix", `{"name":"x","roles":["reader"],"hash":"` + sampleHash[7:] + `"}`, "64 hexadecimal"},
		{"short hash", `{"name":"x","roles":["reader"],"hash":"sha256:00"}`, "64 hexadecimal"},
		{"odd hash", `{"name":"x","roles":["reader"],"hash":"sha256:` + strings.Repeat("x", 64) + `"}`, "64 hexadecimal"},
		{"zero hash", `{"name":"x","roles":["reader"],"hash":"sha256:` + strings.Repeat("0", 64) + `"}`, "64 hexadecimal"},
		{"a secret for a hash", `{"name":"x","roles":["reader"],"hash":"` + secret + `"}`, "a secret instead of its hash"},
		{"a secret for a role", `{"name":"x","roles":["` + secret + `"],"cert":"x"}`, "lh_…"},
		{"a secret for a time", `{"name":"x","roles":["reader"],"expires":"` + secret + `","cert":"x"}`, "lh_…"},
		{"a secret for a field", `{"` + secret + `":1}`, "lh_…"},
		{"a secret for a name", `{"name":"` + secret + `","roles":["reader"],"cert":"x"}`, "begins like a secret"},
		{"a secret alone", secret, "JSON object"},
		{"same name", `{"name":"good","roles":["reader"],"cert":"x"}`, "has the name of line 2"},
		{"same hash", `{"name":"x","roles":["reader"],"hash":"` + sampleHash + `"}`, "has the hash of line 2"},
		{"not UTF-8", "{\"name\":\"x\xff\"}", "UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse([]byte("# first\n" + good + "\n\n" + tt.line + "\n"))
			if err == nil || !strings.HasPrefix(err.Error(), "line 4: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("parse() = %v, want line 4 and %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), secret[3:20]) {
				t.Errorf("parse() = %v, which tells a secret", err)
			}
		})
	}
	cert := `{"name":"%s","roles":["reader"],"cert":"same"}` + "\n"
	if _, err := parse(fmt.Appendf(nil, cert+cert, "a", "b")); err == nil || !strings.Contains(err.Error(), "line 2: has the cert of line 1") {
		t.Errorf("parse(same cert) = %v", err)
	}
}

func TestParseBounds(t *testing.T) {
	var b strings.Builder
	for i := range maxTokens + 1 {
		fmt.Fprintf(&b, `{"name":"t%d","roles":["reader"],"cert":"c%d"}`+"\n", i, i)
	}
	if _, err := parse([]byte(b.String())); err == nil || !strings.Contains(err.Error(), "10001 tokens") {
		t.Errorf("parse(10001 tokens) = %v, want an error", err)
	}
}

// TestWrittenTokensAreRead writes any tokens and reads them again.
func TestWrittenTokensAreRead(t *testing.T) {
	name := rapid.StringMatching(`[A-Za-z0-9_.:@/-]{1,20}`).Filter(func(s string) bool {
		return checkName(Token{Name: s}) == nil
	})
	pattern := rapid.StringMatching(`[^\x00-\x1f\x7f-\x{9f}]{1,30}\*?`)
	when := rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(time.Time{}.Unix(), 250e9).Draw(t, "second"), 0).UTC()
	})
	draw := rapid.Custom(func(t *rapid.T) row {
		r := row{Token: Token{
			Name:    name.Draw(t, "name"),
			Roles:   rapid.SliceOfNDistinct(rapid.SampledFrom(Local.Roles), 1, 3, rapid.ID).Draw(t, "roles"),
			Created: when.Draw(t, "created"),
		}}
		if rapid.Bool().Draw(t, "ends") {
			r.Expires = new(when.Draw(t, "expires"))
		}
		if (Caller{Roles: r.Roles}).Has(RoleHolder) {
			r.Holders = nilIfEmpty(rapid.SliceOfN(pattern, 0, 4).Draw(t, "holders"))
			r.Resources = nilIfEmpty(rapid.SliceOfN(pattern, 0, 4).Draw(t, "resources"))
		}
		if rapid.Bool().Draw(t, "cert") {
			r.Cert = "cert of " + r.Name
		} else {
			r.Hash = hashOf(r.Name)
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfNDistinct(draw, 0, 6, func(r row) string { return r.Name }).Draw(t, "rows")
		var d document
		for _, r := range want {
			var err error
			if d, err = d.add(r); err != nil {
				t.Fatalf("add(%+v) = %v", r, err)
			}
		}
		again, err := parse(d.bytes())
		if err != nil {
			t.Fatalf("parse(bytes()) = %v", err)
		}
		if diff := cmp.Diff(want, again.rows(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("rows differ (-want +got):\n%s", diff)
		}
		for _, r := range want {
			less, ok := again.without(r.Name)
			if !ok || len(less.rows()) != len(want)-1 {
				t.Fatalf("without(%q) = %d rows, %v", r.Name, len(less.rows()), ok)
			}
		}
	})
}

// FuzzParse: whatever can be read is written again as it was, and each of its
// rows can be written by us and read again.
func FuzzParse(f *testing.F) {
	f.Add("")
	f.Add("# comment\n\n")
	f.Add(`{"name":"a","roles":["holder"],"holders":["x*"],"created":"2025-01-02T03:04:05Z","hash":"` + sampleHash + `"}`)
	f.Add(`{"name":"b","roles":["operator"],"cert":"b","expires":"2026-01-02T03:04:05.5+01:00"}` + "\r\n#\n")
	f.Add(`{"name":"b","roles":["operator"],"cert":"b","expires":"0001-01-01T00:00:00Z"}`)
	f.Add(`{"Name":"b","name":"c","roles":["reader"],"cert":"\ud800"}`)
	f.Add(`{"name":"lh_x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parse([]byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") && len(text) < 1<<16 {
				t.Errorf("parse() = %v, want the line named", err)
			}
			return
		}
		if got, want := string(d.bytes()), text; got != want && got != want+"\n" {
			t.Errorf("bytes() = %q, want %q", got, want)
		}
		var ours document
		for _, r := range d.rows() {
			if r.Expires != nil && !r.Expired(*r.Expires) {
				t.Errorf("%+v has not expired at its end", r)
			}
			if ours, err = ours.add(r); err != nil {
				t.Fatalf("add(%+v) = %v", r, err)
			}
		}
		got, _ := json.Marshal(ours.rows())
		want, _ := json.Marshal(d.rows())
		if string(got) != string(want) {
			t.Errorf("the rows %s became %s", want, got)
		}
	})
}
