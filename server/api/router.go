package api

import (
	"net/url"
	"slices"
	"strings"
)

// router finds endpoints by the path as it was sent, still escaped. The
// standard mux would clean the path first, and so turn the resource "a/../b"
// into "b" and lose the difference between "a//b" and "a/b".
type router struct {
	exact map[string][]*endpoint
	open  []pattern
}

// pattern is a path with an open part, which takes anything in between.
type pattern struct {
	before, after string
	endpoint      *endpoint
}

func newRouter(endpoints []*endpoint) router {
	rt := router{exact: map[string][]*endpoint{}}
	for _, e := range endpoints {
		before, rest, open := strings.Cut(e.Path, "{")
		if !open {
			rt.exact[e.Path] = append(rt.exact[e.Path], e)
			continue
		}
		_, after, _ := strings.Cut(rest, "}")
		rt.open = append(rt.open, pattern{before, after, e})
	}
	return rt
}

// find returns the endpoint and the open part of its path, unescaped. Where
// the path is known but not with this method, allow says with which it is.
func (rt router) find(method, path string) (e *endpoint, rest string, allow []string) {
	for _, e := range rt.exact[path] {
		if e.serves(method) {
			return e, "", nil
		}
		allow = append(allow, e.methods()...)
	}
	for _, p := range rt.open {
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

func (e *endpoint) methods() []string {
	if e.takesHead() {
		return []string{e.Method, "HEAD"}
	}
	return []string{e.Method}
}

func (p pattern) match(path string) (string, bool) {
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
