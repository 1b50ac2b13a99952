package catalog

import (
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"pgregory.net/rapid"
)

func TestResource(t *testing.T) {
	ref := Ref{Account: "acct", Container: "box", Blob: "a/b c"}
	if got, want := ref.Resource(), "blob:acct/box/a/b c"; got != want {
		t.Errorf("Resource() = %q, want %q", got, want)
	}
	if got, want := ref.container().Resource(), "blob:acct/box"; got != want {
		t.Errorf("Resource() = %q, want %q", got, want)
	}
	if got, want := ref.Holder(), "azure:acct"; got != want {
		t.Errorf("Holder() = %q, want %q", got, want)
	}
	ref.Snapshot = At(0)
	if !ref.IsSnapshot() || ref.base().IsSnapshot() {
		t.Errorf("IsSnapshot() = %v, of the base %v", ref.IsSnapshot(), ref.base().IsSnapshot())
	}
}

// TestResourceIsAlwaysAName: whatever a blob is called, its lease has a name,
// and no other blob's lease has it.
func TestResourceIsAlwaysAName(t *testing.T) {
	names := rapid.OneOf(
		rapid.StringN(1, 1024, -1),
		rapid.StringMatching(`~sha256-[0-9a-f]{0,64}`),
		rapid.SampledFrom([]string{"a\nb", "\x00", strings.Repeat("ü", 1024), strings.Repeat("x", 1024)}),
	)
	rapid.Check(t, func(t *rapid.T) {
		a := Ref{Account: "acct", Container: "box", Blob: names.Draw(t, "a")}
		b := Ref{Account: "acct", Container: "box", Blob: names.Draw(t, "b")}
		if err := leasehold.CheckResource(a.Resource()); err != nil {
			t.Fatalf("Resource() of %q = %q: %v", a.Blob, a.Resource(), err)
		}
		if a.Blob != b.Blob && a.Resource() == b.Resource() {
			t.Fatalf("%q and %q have the same lease %q", a.Blob, b.Blob, a.Resource())
		}
		digest := Ref{Account: "acct", Container: "box", Blob: strings.TrimPrefix(a.Resource(), "blob:acct/box/")}
		if digest.Blob != a.Blob && digest.Resource() == a.Resource() {
			t.Fatalf("%q has the lease of %q", digest.Blob, a.Blob)
		}
	})
}

func TestCheckContainer(t *testing.T) {
	for _, name := range []string{"abc", "a-b", "123", "a1-b2-c3", strings.Repeat("a", 63), "$root", "$logs", "$web"} {
		if err := CheckContainer(name); err != nil {
			t.Errorf("CheckContainer(%q) = %v", name, err)
		}
	}
	for code, names := range map[string][]string{
		azerr.InvalidResourceName: {"Abc", "a--b", "-abc", "abc-", "a_b", "a.b", "ä-b", "...", "a/b", "$other"},
		azerr.OutOfRangeInput:     {"", "ab", "..", strings.Repeat("a", 64)},
	} {
		for _, name := range names {
			if err := CheckContainer(name); !isFault(err, code) {
				t.Errorf("CheckContainer(%q) = %v, want %s", name, err, code)
			}
		}
	}
}

func TestCheckBlob(t *testing.T) {
	for _, name := range []string{"a", "/", "..", "a//b", "a b", "\x01", strings.Repeat("🙂", MaxName)} {
		if err := CheckBlob(name); err != nil {
			t.Errorf("CheckBlob(%q) = %v", name, err)
		}
	}
	for name, code := range map[string]string{
		"": azerr.InvalidUri, "\xff": azerr.InvalidUri, strings.Repeat("🙂", MaxName+1): azerr.InvalidResourceName,
	} {
		if err := CheckBlob(name); !isFault(err, code) {
			t.Errorf("CheckBlob(%.20q) = %v, want %s", name, err, code)
		}
	}
}
