package leasehold

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name is a resource's name in a hierarchy that several teams can share:
//
//	{environment}:{region}:{tenant}:{service}:{resource}
//	prod:us-east-1:acme:payment-processor:invoice-batch-123
//
// It is only a convention: a store accepts any string. With it two services
// cannot collide by accident, and every lease of a tenant or a service can be
// listed by prefix.
//
// Build and ParseName are inverses. Each Name has exactly one spelling, so two
// programs that mean the same resource acquire the same lease.
type Name struct {
	Environment string // required, such as "prod"
	Region      string // may be empty: its delimiter stays
	Tenant      string // may be empty as well
	Service     string // required
	Resource    string // required: what the service works on
}

const (
	nameDelimiter = ':'
	nameEscape    = '%'
	nameFields    = 5
)

// Names that begin with reservedEnvironment belong to the Azure API. Like those
// that begin with HealthPrefix they cannot be acquired as a plain resource.
const reservedEnvironment = "blob"

// Build checks the name and returns it in its one spelling, or ErrInvalid. The
// delimiter, the percent sign, control characters and bytes that are not UTF-8
// are written as %XX, so a field may hold anything; the result obeys the rules
// of a resource, 1,024 bytes at most included.
func (n Name) Build() (string, error) {
	if err := n.check(); err != nil {
		return "", err
	}
	s := n.String()
	if len(s) > MaxResource {
		return "", Invalid("name", "has %d bytes when escaped; the limit is %d", len(s), MaxResource)
	}
	return s, nil
}

// String spells the name without checking it. Use Build for a name that will
// be leased.
func (n Name) String() string {
	var b strings.Builder
	for i, field := range n.fields() {
		if i > 0 {
			b.WriteByte(nameDelimiter)
		}
		escapeField(&b, *field)
	}
	return b.String()
}

// ParseName reads a name that Build made. Anything that Build would have
// spelled differently is ErrInvalid: an escape that is not needed, lower-case
// hexadecimal digits, a missing field. Otherwise one resource would have two
// names, and two holders.
func ParseName(s string) (Name, error) {
	parts := strings.Split(s, string(nameDelimiter))
	if len(parts) != nameFields {
		return Name{}, Invalid("name", "has %d fields; want environment:region:tenant:service:resource", len(parts))
	}
	var n Name
	for i, field := range n.fields() {
		*field = unescapeField(parts[i])
	}
	built, err := n.Build()
	if err != nil {
		return Name{}, err
	}
	if built != s {
		return Name{}, Invalid("name", "is not spelled as Build does; want %.64q", built)
	}
	return n, nil
}

// fields returns the fields in the order in which they are spelled.
func (n *Name) fields() [nameFields]*string {
	return [...]*string{&n.Environment, &n.Region, &n.Tenant, &n.Service, &n.Resource}
}

func (n Name) check() error {
	switch {
	case n.Environment == "":
		return Invalid("environment", "is empty; a name needs one, such as prod")
	case n.Service == "":
		return Invalid("service", "is empty; a name needs the service that does the work")
	case n.Resource == "":
		return Invalid("resource", "is empty; a name needs what the service works on")
	case n.Environment == reservedEnvironment || strings.HasPrefix(n.Environment, HealthPrefix):
		return Invalid("environment", "is %.64q, which begins names that cannot be acquired; choose another", n.Environment)
	}
	return nil
}

// escapeField writes the field so that the delimiter never stands in it and
// the whole is valid UTF-8 without control characters.
func escapeField(b *strings.Builder, field string) {
	for len(field) > 0 {
		r, size := utf8.DecodeRuneInString(field)
		if mustEscape(r, size) {
			escapeBytes(b, field[:size])
		} else {
			b.WriteString(field[:size])
		}
		field = field[size:]
	}
}

func mustEscape(r rune, size int) bool {
	badUTF8 := r == utf8.RuneError && size == 1
	return badUTF8 || r == nameDelimiter || r == nameEscape || unicode.IsControl(r)
}

func escapeBytes(b *strings.Builder, raw string) {
	const digits = "0123456789ABCDEF"
	for i := range len(raw) {
		b.WriteByte(nameEscape)
		b.WriteByte(digits[raw[i]>>4])
		b.WriteByte(digits[raw[i]&15])
	}
}

// unescapeField turns every %XX into its byte and leaves what is no escape as
// it is: ParseName notices, because such a field is not spelled that way again.
func unescapeField(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if v, ok := escapedByte(s[i:]); ok {
			b.WriteByte(v)
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func escapedByte(s string) (byte, bool) {
	if len(s) < 3 || s[0] != nameEscape {
		return 0, false
	}
	high, low := hexDigit(s[1]), hexDigit(s[2])
	return high<<4 | low&15, high < 16 && low < 16
}

// hexDigit returns the digit's value, or 16 if it is none.
func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 16
}
