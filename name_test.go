package leasehold

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNameBuild(t *testing.T) {
	full := Name{Environment: "prod", Region: "us-east-1", Tenant: "acme", Service: "payment-processor", Resource: "invoice-batch-123"}
	tests := []struct {
		name string
		in   Name
		want string
	}{
		{"plain", full, "prod:us-east-1:acme:payment-processor:invoice-batch-123"},
		{"empty middle", Name{Environment: "dev", Service: "s", Resource: "r"}, "dev:::s:r"},
		{"delimiter", Name{Environment: "a:b", Service: "s", Resource: ":"}, "a%3Ab:::s:%3A"},
		{"percent", Name{Environment: "%3A", Service: "s", Resource: "100%"}, "%253A:::s:100%25"},
		{"control characters", Name{Environment: "e", Service: "s", Resource: "a\x00b\nc\x7f\u0085"}, "e:::s:a%00b%0Ac%7F%C2%85"},
		{"invalid UTF-8", Name{Environment: "e", Service: "s", Resource: "\xff\xc3"}, "e:::s:%FF%C3"},
		{"replacement character is plain", Name{Environment: "e", Service: "s", Resource: "\ufffd"}, "e:::s:\ufffd"},
		{"the rest is plain data", Name{Environment: "e", Service: "s", Resource: "/ '\"*é😀; DROP TABLE"}, "e:::s:/ '\"*é😀; DROP TABLE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.in.Build()
			if err != nil || got != tt.want {
				t.Fatalf("Build(%#v) = %q, %v, want %q", tt.in, got, err, tt.want)
			}
			back, err := ParseName(got)
			if diff := cmp.Diff(tt.in, back); err != nil || diff != "" {
				t.Errorf("ParseName(%q) = %#v, %v, want %#v", got, back, err, tt.in)
			}
		})
	}
}

func TestNameBuildRefuses(t *testing.T) {
	tests := []struct {
		name  string
		in    Name
		field string
	}{
		{"no environment", Name{Service: "s", Resource: "r"}, "environment"},
		{"no service", Name{Environment: "e", Resource: "r"}, "service"},
		{"no resource", Name{Environment: "e", Service: "s"}, "resource"},
		{"the Azure API's names", Name{Environment: "blob", Service: "s", Resource: "r"}, "environment"},
		{"health checks", Name{Environment: "__healthcheck__1", Service: "s", Resource: "r"}, "environment"},
		{"too long", Name{Environment: "e", Service: "s", Resource: strings.Repeat("x", MaxResource)}, "name"},
		{"too long when escaped", Name{Environment: "e", Service: "s", Resource: strings.Repeat(":", MaxResource/3)}, "name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.in.Build()
			var e *Error
			if got != "" || !errors.Is(err, ErrInvalid) || !errors.As(err, &e) || e.Field != tt.field {
				t.Errorf("Build(%#v) = %q, %v, want ErrInvalid about %s", tt.in, got, err, tt.field)
			}
		})
	}
}

func TestNameFillsTheLimitExactly(t *testing.T) {
	n := Name{Environment: "e", Service: "s", Resource: strings.Repeat("x", MaxResource-len("e:::s:"))}
	s, err := n.Build()
	if err != nil || len(s) != MaxResource {
		t.Fatalf("Build of a name of %d bytes = %d bytes, %v, want no error", MaxResource, len(s), err)
	}
	n.Tenant = "t"
	if _, err := n.Build(); !errors.Is(err, ErrInvalid) {
		t.Errorf("Build of a name of %d bytes = %v, want ErrInvalid", MaxResource+1, err)
	}
}

func TestParseNameRefuses(t *testing.T) {
	tests := map[string]string{
		"empty":                      "",
		"four fields":                "e:r:t:s",
		"six fields":                 "e:r:t:s:r:x",
		"required field empty":       "e:r:t::x",
		"reserved":                   "blob:r:t:s:x",
		"escape that is not needed":  "e:r:t:s:%41",
		"lower-case digits":          "e:r:t:s:%3a",
		"no digits after percent":    "e:r:t:s:100%",
		"one digit after percent":    "e:r:t:s:%3",
		"wrong digits after percent": "e:r:t:s:%G0",
		"bare control character":     "e:r:t:s:a\nb",
		"bare invalid UTF-8":         "e:r:t:s:\xff",
		"bytes that join to a rune":  "e:r:t:s:\xc3%A9",
		"escaped valid rune":         "e:r:t:s:%C3%A9",
		"too long":                   "e:r:t:s:" + strings.Repeat("x", MaxResource),
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseName(in)
			if got != (Name{}) || !errors.Is(err, ErrInvalid) {
				t.Errorf("ParseName(%q) = %#v, %v, want ErrInvalid", in, got, err)
			}
		})
	}
}

// mayBuild says by the documented rules, not by the code, whether a name can
// be built: escaping triples a byte at most, so short names always fit.
func mayBuild(n Name) bool {
	return n.Environment != "" && n.Service != "" && n.Resource != "" &&
		n.Environment != "blob" && !strings.HasPrefix(n.Environment, "__healthcheck__")
}

// checkBuildAndParse holds for every input: a name is refused, or its spelling is
// a valid resource from which the same name is read back.
func checkBuildAndParse(t interface{ Fatalf(string, ...any) }, n Name) {
	s, err := n.Build()
	short := len(n.Environment)+len(n.Region)+len(n.Tenant)+len(n.Service)+len(n.Resource) <= 300
	if err != nil {
		if !errors.Is(err, ErrInvalid) || mayBuild(n) && short {
			t.Fatalf("Build(%#v) = %v, want no error", n, err)
		}
		return
	}
	if !mayBuild(n) {
		t.Fatalf("Build(%#v) = %q, want ErrInvalid", n, s)
	}
	if err := CheckResource(s); err != nil {
		t.Fatalf("CheckResource(%q) = %v, want nil", s, err)
	}
	back, err := ParseName(s)
	if err != nil || back != n {
		t.Fatalf("ParseName(%q) = %#v, %v, want %#v", s, back, err, n)
	}
}

func TestNameBuildAndParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.OneOf(
			rapid.String(),
			rapid.StringMatching(`[a-z:%0-9A-F]{0,12}`),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 12), func(b []byte) string { return string(b) }),
		)
		checkBuildAndParse(t, Name{
			Environment: field.Draw(t, "environment"),
			Region:      field.Draw(t, "region"),
			Tenant:      field.Draw(t, "tenant"),
			Service:     field.Draw(t, "service"),
			Resource:    field.Draw(t, "resource"),
		})
	})
}

func FuzzName(f *testing.F) {
	f.Add("prod", "us-east-1", "acme", "payment-processor", "invoice-batch-123")
	f.Add("a:b", "%", "%3A", "\x00\xff", "\u0085é\xc3")
	f.Fuzz(func(t *testing.T, environment, region, tenant, service, resource string) {
		checkBuildAndParse(t, Name{environment, region, tenant, service, resource})
	})
}

// FuzzParseName checks the other direction: what parses has one spelling.
func FuzzParseName(f *testing.F) {
	f.Add("prod:us-east-1:acme:payment-processor:invoice-batch-123")
	f.Add("e:%25:%3A:s:%C3")
	f.Add("e:%25:%3a:s:\xc3%A9")
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseName(s)
		if err != nil {
			return
		}
		if again, err := n.Build(); err != nil || again != s {
			t.Fatalf("ParseName(%q) builds %q, %v, want the same spelling", s, again, err)
		}
	})
}
