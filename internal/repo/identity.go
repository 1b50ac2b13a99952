package repo

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/leasehold/leasehold"
)

// identity returns what the repository is called, by the first of these that there is:
//
//   - leasehold.repository in its git config;
//   - the URL of origin, the same for every way to reach it, without credentials; if it is
//     a folder of this host, what the repository there is called;
//   - the host and the common git directory.
//
// It reads .git/config alone: no files that it includes, and not the user's settings,
// which would give all repositories one name.
func (r *Repo) identity(settings config) string {
	if name := settings.last("leasehold.repository"); name != "" {
		return namespace(name)
	}
	if origin := settings.first("remote.origin.url"); origin != "" {
		if name := r.remoteName(origin); name != "" {
			return namespace(name)
		}
	}
	return namespace(HostNamespace() + absolute(r.CommonDir))
}

// remoteName returns host and path of a URL in lower case, without .git at its end:
// github.com/owner/name. User names, passwords, ports and queries are left out.
func (r *Repo) remoteName(remote string) string {
	remote = strings.TrimSpace(remote)
	host, path := "", ""
	if at := strings.IndexAny(remote, ":/"); at >= 0 && strings.HasPrefix(remote[at:], "::") {
		return "remote/" + digest(remote) // helper::address, of which only the helper knows what is secret
	}
	if scheme, rest, ok := strings.Cut(remote, "://"); ok {
		if strings.EqualFold(scheme, "file") {
			return r.localName(rest)
		}
		authority, after, _ := strings.Cut(rest, "/")
		host, path = hostOf(authority), strings.TrimRight(cutAny(after, "?#"), "/")
	} else if before, after, ok := scpLike(remote); ok {
		host, path = hostOf(before), after
	} else {
		return r.localName(remote)
	}
	if decoded, err := url.PathUnescape(path); err == nil {
		path = decoded
	}
	path = strings.Join(segments(path), "/")
	path = strings.TrimSuffix(strings.ToLower(path), ".git")
	if host == "" || path == "" {
		return ""
	}
	return strings.ToLower(host) + "/" + strings.Trim(path, "/")
}

// scpLike splits user@host:path, which has no slash before the colon.
func scpLike(remote string) (host, path string, ok bool) {
	if filepath.VolumeName(remote) != "" {
		return "", "", false
	}
	if strings.HasPrefix(remote, "[") { // [::1]:path, [host:port]:path
		host, path, ok = strings.Cut(remote, "]:")
		return strings.TrimPrefix(host, "["), path, ok
	}
	if at := strings.Index(remote, "["); at > 0 && remote[at-1] == '@' {
		host, path, ok = strings.Cut(remote, "]:")
		return host + "]", path, ok
	}
	host, path, ok = strings.Cut(remote, ":")
	return host, path, ok && !strings.ContainsAny(host, `/\`)
}

// hostOf returns the host of user:password@host:port.
func hostOf(authority string) string {
	host := authority[strings.LastIndex(authority, "@")+1:]
	if inner, _, ok := strings.Cut(strings.TrimPrefix(host, "["), "]"); ok && strings.HasPrefix(host, "[") {
		return inner
	}
	host, _, _ = strings.Cut(host, ":")
	return strings.TrimSuffix(host, ".")
}

func cutAny(s, chars string) string {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i]
	}
	return s
}

// maxHops bounds how many clones of clones of this host a name follows.
const maxHops = 8

// localName names a remote that is a folder of this host: like the repository there, which
// has the same files, or by the folder.
func (r *Repo) localName(remote string) string {
	folder, err := resolve(r.Root, remote)
	if err != nil {
		return ""
	}
	if r.hops < maxHops { // else they are clones of each other
		if gitDir := gitDirOfRemote(folder); gitDir != "" {
			if there, err := open(folder, gitDir, r.hops+1); err == nil {
				return there.Identity
			}
		}
	}
	return HostNamespace() + absolute(folder)
}

// gitDirOfRemote returns the git directory that a folder stands for as a remote, by the
// names that git tries: of its work tree, itself, and both with .git at the end.
func gitDirOfRemote(folder string) string {
	for _, name := range []string{folder, folder + ".git"} {
		if gitDir, err := gitDirOf(name); err == nil && gitDir != "" {
			return gitDir
		}
		head, noHead := os.Stat(filepath.Join(name, "HEAD"))
		objects, noObjects := os.Stat(filepath.Join(name, "objects"))
		if noHead == nil && head.Mode().IsRegular() && noObjects == nil && objects.IsDir() {
			return name
		}
	}
	return ""
}

// absolute is the folder as its file system spells it.
func absolute(folder string) string {
	if ignoresCase(existing(folder)) {
		volume := filepath.VolumeName(folder)
		folder = volume + separator + spelled(volume+separator, strings.TrimPrefix(folder[len(volume):], separator))
	}
	return "/" + strings.TrimPrefix(filepath.ToSlash(folder), "/")
}

// digest makes a long name different from others, and shows nothing of it.
func digest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// namespace makes a valid namespace of a name, and keeps different names different. A
// colon at the end would make it one whose paths are separated by colons.
func namespace(name string) string {
	clean := strings.TrimRight(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return '?'
		}
		return c
	}, strings.ToValidUTF8(name, "?")), ":")
	if clean == name && len(name) <= leasehold.MaxNamespace {
		return name
	}
	end := "#" + digest(name)
	clean = clean[:min(len(clean), leasehold.MaxNamespace-len(end))]
	return strings.ToValidUTF8(clean, "") + end
}
