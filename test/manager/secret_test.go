package manager_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"text/template"

	"github.com/leasehold/leasehold"
)

// sampleID is an id whose every byte can be told apart.
const sampleID = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"

func parseSample(t *testing.T) leasehold.ID {
	t.Helper()
	id, err := leasehold.ParseID(sampleID)
	if err != nil {
		t.Fatalf("ParseID of the sample = %v, want an id", err)
	}
	return id
}

// verifySecret fails if the text gives the sample id away in any form it could
// slip out in.
func verifySecret(t *testing.T, what, text string) {
	t.Helper()
	id := parseSample(t)
	raw := id[:]
	low := strings.ToLower(text)
	for form, leak := range map[string]string{
		"as a UUID":       sampleID,
		"as digits":       hex.EncodeToString(raw),
		"half of it":      hex.EncodeToString(raw[:4]),
		"the other half":  hex.EncodeToString(raw[10:]),
		"as numbers":      strings.Trim(fmt.Sprint(raw[:4]), "[]"),
		"as Go":           strings.Trim(fmt.Sprintf("%#v", raw[:3]), "[]byte{}"),
		"as spaced hex":   fmt.Sprintf("% x", raw[:4]),
		"as JSON numbers": "248,29,79",
		"in base64":       strings.ToLower(base64.StdEncoding.EncodeToString(raw)[:12]),
		"as bytes":        strings.ToLower(string(raw[:4])),
	} {
		if strings.Contains(low, leak) {
			t.Errorf("%s gives the id away, %s", what, form)
		}
	}
}

// TestFmtKeepsTheSecret tries every verb but %T, which prints the type, and the
// two that package fmt does not let a type answer and go vet refuses: %p, and
// %w outside of Errorf.
func TestFmtKeepsTheSecret(t *testing.T) {
	id := parseSample(t)
	const letters = "abcdefghijklmnoqrstuvxyzABCDEFGHIJKLMNOPQRSUVWXYZ"
	for _, verb := range letters {
		for _, flags := range []string{"", "+", "#", " ", "0", "-", "20", ".3", "+#", "-20.3", "# "} {
			format := "%" + flags + string(verb)
			if got, want := fmt.Sprintf(format, id), "[lease id]"; got != want {
				t.Errorf("Sprintf(%q, id) = %q, want %q", format, got, want)
			}
			if got, want := fmt.Sprintf(format, leasehold.ID{}), "no lease id"; got != want {
				t.Errorf("Sprintf(%q, none) = %q, want %q", format, got, want)
			}
			verifySecret(t, "Sprintf("+format+", &id)", fmt.Sprintf(format, &id))
		}
	}
	surplus := []any{"text", id}
	verifySecret(t, "one argument too many", fmt.Sprintf("%s", surplus...))
	verifySecret(t, "Sprint", fmt.Sprint(id, &id, []leasehold.ID{id}, map[leasehold.ID]leasehold.ID{id: id}))
}

// carriers are all things with an id in them that a program may want to print.
func carriers(t *testing.T) map[string]any {
	id := parseSample(t)
	lease := leasehold.Lease{ID: id, Resource: "job", Holder: "ann", Token: 7}
	refusal := &leasehold.Error{Reason: leasehold.ReasonHeld, Op: "acquire", Resource: "job", Current: &lease}
	return map[string]any{
		"ID":              id,
		"*ID":             &id,
		"Lease":           lease,
		"*Lease":          &lease,
		"Grant":           leasehold.Grant{Lease: lease},
		"Status":          leasehold.Status{Lease: &lease},
		"LeasePage":       leasehold.LeasePage{Leases: []leasehold.Lease{lease}},
		"Error":           *refusal,
		"*Error":          refusal,
		"wrapped Error":   fmt.Errorf("outer: %w", refusal),
		"joined Error":    errors.Join(refusal, refusal),
		"AcquireRequest":  leasehold.AcquireRequest{ID: id},
		"RenewRequest":    leasehold.RenewRequest{ID: id},
		"ReleaseRequest":  leasehold.ReleaseRequest{ID: id},
		"ChangeRequest":   leasehold.ChangeRequest{ID: id, Proposed: id},
		"TransferRequest": leasehold.TransferRequest{ID: id, Proposed: id},
		"[]ID":            []leasehold.ID{id},
		"map by ID":       map[leasehold.ID]int{id: 1},
		"any in any":      []any{map[string]any{"lease": &lease}},
	}
}

// TestPrintedCarriersKeepTheSecret tries the verbs that go vet lets through.
func TestPrintedCarriersKeepTheSecret(t *testing.T) {
	for name, v := range carriers(t) {
		for _, format := range []string{"%v", "%+v", "%#v", "%20v", "%x", "%X", "%d", "%o", "%b"} {
			verifySecret(t, fmt.Sprintf("Sprintf(%q, %s)", format, name), fmt.Sprintf(format, v))
		}
		var page bytes.Buffer
		if err := template.Must(template.New("").Parse(`{{.}} {{printf "%x" .}}`)).Execute(&page, v); err != nil {
			t.Fatal(err)
		}
		verifySecret(t, "a template with "+name, page.String())
	}
}

func TestEncodedCarriersKeepTheSecret(t *testing.T) {
	for name, v := range carriers(t) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Errorf("json.Marshal(%s) = %v", name, err)
		}
		verifySecret(t, "json.Marshal("+name+")", string(text))
	}
	id := parseSample(t)
	type carrier struct{ ID leasehold.ID }
	text, err := xml.Marshal(carrier{id})
	if err != nil {
		t.Fatal(err)
	}
	verifySecret(t, "xml.Marshal", string(text))
	if got, err := json.Marshal(id); err != nil || string(got) != `"[lease id]"` {
		t.Errorf("json.Marshal(id) = %s, %v; want the placeholder", got, err)
	}
}

func TestLoggedCarriersKeepTheSecret(t *testing.T) {
	for name, v := range carriers(t) {
		var out bytes.Buffer
		options := &slog.HandlerOptions{AddSource: true, Level: slog.LevelDebug}
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, options), slog.NewJSONHandler(&out, options)} {
			log := slog.New(h)
			log.Info("plain", "it", v)
			log.With("it", v).WithGroup("g").Debug("grouped", slog.Group("h", slog.Any("it", v)))
			log.Error("many", "them", []any{v, &v})
		}
		if !strings.Contains(out.String(), "grouped") {
			t.Fatalf("the log of %s is empty", name)
		}
		verifySecret(t, "the log of "+name, out.String())
	}
}

// TestSecretWouldBeSeen makes sure that the checks above can fail.
func TestSecretWouldBeSeen(t *testing.T) {
	id := parseSample(t)
	raw := id[:]
	for _, leak := range []string{
		id.Reveal(), strings.ToUpper(id.Reveal()), fmt.Sprint(raw), fmt.Sprintf("%x", raw), fmt.Sprintf("%X", raw),
		fmt.Sprintf("%#v", raw), base64.StdEncoding.EncodeToString(raw), string(raw), fmt.Sprintf("% x", raw),
	} {
		seen := &testing.T{}
		verifySecret(seen, "", leak)
		if !seen.Failed() {
			t.Errorf("verifySecret does not notice %q", leak)
		}
	}
}

// TestHeldKeepsTheSecret: programs log handles, whose id is in an unexported field,
// and package fmt calls no methods of those.
func TestHeldKeepsTheSecret(t *testing.T) {
	held := mustTry(t, newManager(t, newStore(t), nil), "job", leasehold.AcquireOptions{ID: parseSample(t)})
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
		text := fmt.Sprintf(format, held)
		verifySecret(t, "Sprintf("+format+", held)", text)
		if !strings.Contains(text, "job") {
			t.Errorf("Sprintf(%q, held) = %q, want it to name the resource", format, text)
		}
	}
	var text, js bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("held", "lease", held)
	slog.New(slog.NewJSONHandler(&js, nil)).Info("held", "lease", held)
	verifySecret(t, "slog as text", text.String())
	verifySecret(t, "slog as JSON", js.String())
}
