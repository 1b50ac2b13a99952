package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
)

const (
	// maxLinks is how many symlinks one name may follow, as in Linux.
	maxLinks = 40

	// maxPath and maxSegment bound names: no system opens longer ones, and what is to be
	// done for a name grows with the square of its length. A segment has 255 letters.
	maxPath    = 4096
	maxSegment = 3 * 255
)

const separator = string(filepath.Separator)

// resolve returns the absolute name without symlinks, as the system would open it: .. is
// the folder above the target of a symlink. What does not exist stays as it is written.
// A relative name starts at dir; an empty dir is the current folder.
func resolve(dir, name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("the file name %.64q has a zero byte", name)
	}
	if !filepath.IsAbs(name) {
		if !filepath.IsAbs(dir) {
			current, err := os.Getwd()
			if err != nil {
				return "", err
			}
			dir = current + separator + dir
		}
		name = dir + separator + name // Join would resolve .. too early
	}
	if len(name) > maxPath {
		return "", fmt.Errorf("the file name has %d bytes; the limit is %d", len(name), maxPath)
	}
	volume := filepath.VolumeName(name)
	return walk(volume+separator, segments(name[len(volume):]))
}

// walk follows the segments from a folder without symlinks.
func walk(at string, rest []string) (string, error) {
	for links := 0; len(rest) > 0; {
		segment := rest[0]
		rest = rest[1:]
		switch segment {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		if len(segment) > maxSegment {
			return "", fmt.Errorf("%.64q is a name of %d bytes; the limit is %d", segment, len(segment), maxSegment)
		}
		next := filepath.Join(at, segment)
		target, isLink, err := readLink(next)
		if err != nil {
			return "", err
		}
		if !isLink {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%.256q has too many symlinks", next)
		}
		if filepath.IsAbs(target) {
			volume := filepath.VolumeName(target)
			at, target = volume+separator, target[len(volume):]
		}
		rest = append(segments(target), rest...)
	}
	return at, nil
}

// readLink reads a symlink. What does not exist is none, and neither is what cannot be
// seen: the edit will fail there, too.
func readLink(name string) (target string, isLink bool, err error) {
	info, err := os.Lstat(name)
	switch {
	case missing(err) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENAMETOOLONG):
		return "", false, nil
	case err != nil:
		return "", false, err
	case info.Mode()&fs.ModeSymlink == 0:
		return "", false, nil
	}
	target, err = os.Readlink(name)
	return target, err == nil, err
}

func segments(name string) []string {
	return strings.FieldsFunc(name, func(c rune) bool { return c < unicode.MaxASCII && os.IsPathSeparator(uint8(c)) })
}

// missing also covers a name below a file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// ignoresCase says whether the file system finds an existing file in another case.
func ignoresCase(name string) bool {
	other := strings.Map(func(c rune) rune {
		if unicode.IsUpper(c) {
			return unicode.ToLower(c)
		}
		return unicode.ToUpper(c)
	}, filepath.Base(name))
	if other == filepath.Base(name) {
		return false
	}
	first, err := os.Stat(name)
	if err != nil {
		return false
	}
	second, err := os.Stat(filepath.Join(filepath.Dir(name), other))
	return err == nil && os.SameFile(first, second)
}

// spelled returns the path below root as the folders there spell it. What does not
// exist stays as it is written.
func spelled(root, path string) string {
	found := segments(path)
	for i, segment := range found {
		name, ok := entry(root, segment)
		if !ok {
			break
		}
		found[i] = name
		root = filepath.Join(root, name)
	}
	return strings.Join(found, separator)
}

// entry returns the spelling of a name in a folder. A file of exactly this name comes
// first: a file system that minds case may have others, too.
func entry(dir, name string) (string, bool) {
	folder, err := os.Open(dir)
	if err != nil {
		return name, false
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	other := ""
	for _, n := range names {
		switch {
		case n == name:
			return name, true
		case strings.EqualFold(n, name) && (other == "" || n < other):
			other = n
		}
	}
	if other == "" && !isASCII(name) {
		other = sameFile(dir, name, names)
	}
	return other, other != ""
}

// sameFile finds a name among those of a folder where letters have several encodings.
func sameFile(dir, name string, names []string) string {
	info, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	for _, n := range names {
		if isASCII(n) {
			continue
		}
		if other, err := os.Lstat(filepath.Join(dir, n)); err == nil && os.SameFile(info, other) {
			return n
		}
	}
	return ""
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c > unicode.MaxASCII }) < 0
}
