package rest

import (
	"net/url"
	"slices"
	"strings"
)

// Router finds endpoints by the path as it was sent, still escaped. The
// standard mux would clean the path first, and so turn the resource "a/../b"
// into "b" and lose the difference between "a//b" and "a/b".
type Router[C any] struct {
	exact    map[string][]*Endpoint[C]
	patterns []pattern[C]
}

// pattern is a path with an open part, which matches anything in between.
type pattern[C any] struct {
	before, after string
	endpoint      *Endpoint[C]
}

// NewRouter returns a router to the endpoints.
func NewRouter[C any](endpoints []*Endpoint[C]) Router[C] {
	rt := Router[C]{exact: map[string][]*Endpoint[C]{}}
	for _, e := range endpoints {
		before, rest, open := strings.Cut(e.Path, "{")
		if !open {
			rt.exact[e.Path] = append(rt.exact[e.Path], e)
			continue
		}
		_, after, _ := strings.Cut(rest, "}")
		rt.patterns = append(rt.patterns, pattern[C]{before, after, e})
	}
	return rt
}

// Find returns the endpoint and the open part of its path, unescaped. Where
// the path is known but not with this method, allow lists those that it has.
func (rt Router[C]) Find(method, path string) (e *Endpoint[C], rest string, allow []string) {
	for _, e := range rt.exact[path] {
		if e.serves(method) {
			return e, "", nil
		}
		allow = append(allow, e.methods()...)
	}
	for _, p := range rt.patterns {
		rest, ok := p.match(path)
		switch {
		case !ok:
		case p.endpoint.serves(method):
			return p.endpoint, rest, nil
		default:
			allow = append(allow, p.endpoint.methods()...)
		}
	}
	slices.Sort(allow)
	return nil, "", slices.Compact(allow)
}

func (p pattern[C]) match(path string) (string, bool) {
	if len(path) < len(p.before)+len(p.after) {
		return "", false
	}
	rest, starts := strings.CutPrefix(path, p.before)
	rest, ends := strings.CutSuffix(rest, p.after)
	if !starts || !ends {
		return "", false
	}
	rest, err := url.PathUnescape(rest)
	return rest, err == nil
}
