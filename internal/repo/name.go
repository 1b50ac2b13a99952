package repo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/leasehold/leasehold"
)

// Name is what a file is called.
type Name struct {
	// Namespace is the Identity of the file's repository, or HostNamespace.
	Namespace string

	// Path is the file's path there, with slashes.
	Path string
}

// Claim returns what to acquire for the file alone.
func (n Name) Claim() leasehold.Claim {
	return leasehold.Claim{Namespace: n.Namespace, Pattern: Pattern(n.Path)}
}

// PlainName is what a file's lease is called in a store without path sets: namespace,
// slash, path. There, only leases of the same name exclude each other.
func PlainName(c leasehold.Claim) string {
	name := c.Namespace + "/" + c.Pattern
	if len(name) > leasehold.MaxResource {
		name = strings.ToValidUTF8(name[:leasehold.MaxResource-32], "") + "#" + digest(name)
	}
	return name
}

// HostNamespace is the namespace of files that are in no repository. Their paths are
// absolute, without the slash at the start.
func HostNamespace() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return hostPrefix + host
}

// hostPrefix begins the namespaces that only this host knows.
const hostPrefix = "host:"

// Locate returns what a file is called by those who may edit it: one name for nearly
// every file, and the first is the one to show. There are more where programs disagree:
//
//   - .. behind a symlink is the folder above the symlink or above its target;
//   - where case is ignored, a file that does not exist yet will have the case of the
//     first writer; its name in lower case is what all writers have in common.
//
// Whoever acquires all of them has the file to himself. A relative name starts at dir.
//
// A file whose claim would cover a whole folder beside it has no name; see checkNarrow.
func Locate(dir, name string) ([]Name, error) {
	resolved, err := resolve(dir, name)
	if err != nil {
		return nil, err
	}
	names, err := namesOf(resolved)
	if err != nil || !slices.Contains(segments(name), "..") {
		return names, err
	}
	cleaned, err := resolve(dir, filepath.Clean(name))
	if err != nil || cleaned == resolved {
		return names, err
	}
	more, err := namesOf(cleaned)
	return append(names, more...), err
}

// checkNarrow refuses a file whose pattern would keep everybody out of everything: the
// top folder, and a name with nothing in it that a pattern can have, such as "**".
func checkNarrow(resolved string) error {
	parts := segments(resolved[len(filepath.VolumeName(resolved)):])
	switch {
	case len(parts) == 0:
		return errors.New("it is the top folder")
	case segmentPattern(parts[len(parts)-1]) == "*":
		return fmt.Errorf("a lease on %q would cover its whole folder", parts[len(parts)-1])
	}
	return nil
}

// namesOf returns the names of a resolved file.
func namesOf(resolved string) ([]Name, error) {
	if err := checkNarrow(resolved); err != nil {
		return nil, err
	}
	r, err := findAbove(filepath.Dir(resolved))
	switch {
	case err != nil:
		return nil, err
	case r != nil:
		path, _, err := r.Path("", resolved)
		return withLower(Name{r.Identity, path}, filepath.Join(r.Root, path), r.ignoresCase), err
	}
	above := existing(resolved)
	volume := filepath.VolumeName(resolved)
	rest := strings.TrimPrefix(resolved[len(volume):], separator)
	ignores := ignoresCase(above)
	if ignores {
		rest = spelled(volume+separator, rest)
	}
	path := strings.TrimPrefix(filepath.ToSlash(filepath.Join(volume, rest)), "/")
	return withLower(Name{HostNamespace(), path}, volume+separator+rest, ignores), nil
}

// withLower adds the name in lower case for a file that does not exist yet.
func withLower(n Name, spelled string, ignoresCase bool) []Name {
	lower := Name{n.Namespace, strings.ToLower(n.Path)}
	if !ignoresCase || lower == n {
		return []Name{n}
	}
	if _, exists := entry(filepath.Dir(spelled), filepath.Base(spelled)); exists {
		return []Name{n}
	}
	return []Name{n, lower}
}

// existing returns the longest part of a name that exists.
func existing(name string) string {
	for {
		if _, err := os.Lstat(name); err == nil || filepath.Dir(name) == name {
			return name
		}
		name = filepath.Dir(name)
	}
}

// Pattern returns the pattern that covers the path. It covers nothing else, unless the
// path has what no pattern can have, such as a backslash, a line end or hundreds of
// folders: such parts become wildcards. * stays what it is and covers itself.
func Pattern(path string) string {
	parts := segments(path)
	if len(parts) == 0 || path == "." {
		return "**"
	}
	size := 0
	for i, part := range parts {
		part = segmentPattern(part)
		if size += len(part) + 1; i == leasehold.MaxSegments-1 && i < len(parts)-1 || size > leasehold.MaxPattern-len("/**") {
			return strings.Join(append(parts[:i:i], "**"), "/")
		}
		parts[i] = part
	}
	return strings.Join(parts, "/")
}

// segmentPattern replaces what a segment of a pattern cannot have by *, one for any
// number of them in a row.
func segmentPattern(segment string) string {
	if segment == "." || segment == ".." { // of a path that is not Locate's
		return "*"
	}
	var b strings.Builder
	last := byte(0)
	for i, c := range segment {
		_, size := utf8.DecodeRuneInString(segment[i:])
		if c == '\\' || c == '*' || unicode.IsControl(c) || c == utf8.RuneError && size == 1 {
			if last != '*' {
				b.WriteByte('*')
			}
			last = '*'
			continue
		}
		b.WriteRune(c)
		last = 0
	}
	return b.String()
}
