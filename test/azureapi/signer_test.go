package azureapi_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold/azure/sign"
)

// signRequest signs with Shared Key, by itself: the server's own
// code must not check what the server checks.
func signRequest(r *http.Request, account sign.Account) {
	r.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
	if r.Header.Get("X-Ms-Version") == "" {
		r.Header.Set("X-Ms-Version", "2025-01-05")
	}
	signAsIs(r, account)
}

// signAsIs signs the headers that are there.
func signAsIs(r *http.Request, account sign.Account) {
	length := ""
	if r.ContentLength > 0 {
		length = strconv.FormatInt(r.ContentLength, 10)
	}
	lines := []string{r.Method, r.Header.Get("Content-Encoding"), r.Header.Get("Content-Language"), length}
	for _, name := range []string{"Content-MD5", "Content-Type", "", "If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"} {
		lines = append(lines, r.Header.Get(name))
	}
	lines = append(lines, ownHeaders(r.Header)...)
	text := strings.Join(append(lines, resourceOf(r, account.Name)), "\n")
	mac := hmac.New(sha256.New, account.Keys[0])
	mac.Write([]byte(text))
	r.Header.Set("Authorization", "SharedKey "+account.Name+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// ownHeaders are sorted by their names: a colon comes after a dash.
func ownHeaders(h http.Header) []string {
	var names []string
	for name := range h {
		if strings.HasPrefix(strings.ToLower(name), "x-ms-") {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	var lines []string
	for _, name := range names {
		lines = append(lines, strings.ToLower(name)+":"+strings.Join(h[name], ","))
	}
	return lines
}

func resourceOf(r *http.Request, account string) string {
	lines := []string{"/" + account + r.URL.EscapedPath()}
	var query []string
	for name, values := range r.URL.Query() {
		query = append(query, strings.ToLower(name)+":"+strings.Join(values, ","))
	}
	slices.Sort(query)
	return strings.Join(append(lines, query...), "\n")
}
