package auth

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/leasehold/leasehold"
)

// checkOpen checks a request to an open listener. Every rule is there because of
// what a web page can make its reader's browser send.
func checkOpen(r *http.Request, hosts []string) *refusal {
	if refused := checkSource(r, hosts); refused != nil {
		return refused
	}
	if !isRead(r) && !isJSON(r) && !isBlob(r) {
		return &refusal{
			err:    &leasehold.Error{Reason: leasehold.ReasonMediaType, Field: "Content-Type"},
			detail: fmt.Sprintf("a %.16s must have Content-Type: application/json, with a body or without", r.Method),
		}
	}
	return nil
}

// checkSource checks whom a request is addressed to, and whose page sent it.
func checkSource(r *http.Request, hosts []string) *refusal {
	name, port, ok := splitHost(r.Host)
	if !ok || !slices.Contains(hosts, name) {
		return forbidden("Host", "%.80q is no name of this listener; without a token file it answers only to %s; serve --host adds a name",
			r.Host, strings.Join(hosts, ", "))
	}
	for _, origin := range r.Header.Values("Origin") {
		if !sameOrigin(r.TLS != nil, origin, name, port) {
			return forbidden("Origin", "%.80q is foreign; pages of other origins may not speak to this listener", origin)
		}
	}
	if fromOtherSite(r) {
		return forbidden("Sec-Fetch-Site", "says that another site's page sent this; only pages of this server may")
	}
	return nil
}

// splitHost splits a Host header: a name in small letters, and a port that may be
// missing.
func splitHost(host string) (name, port string, ok bool) {
	host = strings.ToLower(host)
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") {
		return host, "", host != ""
	}
	name, port = host[:i], host[i+1:]
	digits := port != "" && strings.Trim(port, "0123456789") == ""
	return name, port, digits && name != ""
}

// sameOrigin reports whether the origin is the very one that was addressed.
// Another port of this machine is another origin: anything may run there.
func sameOrigin(tls bool, origin, name, port string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	scheme, standard := "http", "80"
	if tls {
		scheme, standard = "https", "443"
	}
	originName, originPort, ok := splitHost(u.Host)
	orStandard := func(p string) string {
		if p == "" {
			return standard
		}
		return p
	}
	return ok && u.Scheme == scheme && originName == name && orStandard(originPort) == orStandard(port)
}

// fromOtherSite reports whether the browser says that a page of another origin
// caused the request. A reader may follow a link from there.
func fromOtherSite(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" && !followsLink(r) {
			return true
		}
	}
	return false
}

// followsLink reports whether somebody has clicked on a link that fills a window
// of its own: a read whose answer only the reader sees. A frame is none, nor is a
// navigation that a script started: either could make the server copy its store.
func followsLink(r *http.Request) bool {
	h := r.Header
	return isRead(r) && h.Get("Sec-Fetch-Mode") == "navigate" && h.Get("Sec-Fetch-Dest") == "document" && h.Get("Sec-Fetch-User") == "?1"
}

func isRead(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
}

func isJSON(r *http.Request) bool { return mediaType(r) == "application/json" }

// mediaType is the body's; empty if it is not clear.
func mediaType(r *http.Request) string {
	types := r.Header.Values("Content-Type")
	if len(types) != 1 {
		return ""
	}
	media, _, err := mime.ParseMediaType(types[0])
	if err != nil {
		return ""
	}
	return media
}

// BlobPath is where blobs are on this listener.
const BlobPath = "/blob/"

// isBlob reports whether a write is one of blobs, which are of any type. A page
// can send PUT and DELETE only after asking, which is refused; what it could
// POST without asking is a form, and no blob operation takes one.
func isBlob(r *http.Request) bool {
	if !strings.HasPrefix(r.URL.EscapedPath(), BlobPath) {
		return false
	}
	return r.Method != http.MethodPost || mediaType(r) == "multipart/mixed" || mediaType(r) == "application/xml"
}
