package server

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/server/auth"
)

const (
	sourceHeader = "x-ms-copy-source"
	tagOption    = "x-ms-copy-source-tag-option"
	maxSourceURL = 2 << 10 // how long the address of a source may be
)

// source is what a copy comes from. The url is the one that is stored with the
// copy: without a signature, which opens the source to everybody who reads it.
type source struct {
	ref catalog.Ref
	url string
}

// source reads which blob or snapshot a copy comes from, and authorizes the caller
// to read it. Only blobs of this server can be copied: it fetches nothing from
// elsewhere.
func (s *Server) source(c *call) (source, error) {
	if c.r.Header.Get("x-ms-copy-source-authorization") != "" {
		return source{}, unverified(http.StatusUnauthorized, "This server knows no bearer tokens: sign the address of the source.")
	}
	u, err := parseSource(c.r.Header.Get(sourceHeader))
	if err != nil {
		return source{}, err
	}
	from, query, err := s.findSource(c, u)
	if err != nil {
		return source{}, err
	}
	return from, s.authorizeSource(c, from.ref, query)
}

// parseSource reads the address.
func parseSource(text string) (*url.URL, error) {
	bad := badHeader(sourceHeader, "it must be the URL of a blob, with at most %d characters", maxSourceURL)
	if len(text) > maxSourceURL {
		return nil, bad
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, bad
	}
	return u, nil
}

// findSource reads what the address names.
func (s *Server) findSource(c *call, u *url.URL) (source, sign.Query, error) {
	api := c.api
	if api.prefix != "" && !strings.HasPrefix(u.EscapedPath(), api.prefix+"/") {
		api = azureAPI
	}
	at, path, err := s.parseAccount(&http.Request{URL: u, Host: u.Host}, api)
	if err == nil {
		err = at.parsePath(path, "")
	}
	switch {
	case err != nil || !s.ownURL(u, c.r.Host):
		return source{}, nil, unverified(http.StatusBadRequest, "This server copies only its own blobs: x-ms-copy-source must begin as its own addresses do.")
	case at.level != atBlob:
		return source{}, nil, badHeader(sourceHeader, "it names no blob")
	}
	query, err := sign.ParseQuery(u.RawQuery)
	if err != nil {
		return source{}, nil, err
	}
	if query.Has("versionid") {
		return source{}, nil, azerr.New(azerr.NotImplemented).With(noVersions)
	}
	from := source{at.ref, u.Scheme + "://" + u.Host + u.EscapedPath()}
	if from.ref.Snapshot, err = snapshotIn(query, "snapshot"); err != nil {
		return source{}, nil, badHeader(sourceHeader, "its snapshot is no snapshot's id")
	}
	if from.ref.IsSnapshot() {
		from.url += "?snapshot=" + from.ref.Snapshot.String()
	}
	return from, query, nil
}

// ownURL reports whether a URL is one of this server's: it has the host of the
// request, or a host that names an account.
func (s *Server) ownURL(u *url.URL, host string) bool {
	if strings.EqualFold(u.Host, host) {
		return true
	}
	_, known := s.accounts.Lookup(firstLabel(u.Host))
	return known
}

// authorizeSource decides whether the caller may read the source, and its tags if
// the request uses them: by a signature in its address, because it is public, by
// its role on the main port, or, for Copy Blob alone, by the key of the same
// account.
func (s *Server) authorizeSource(c *call, from catalog.Ref, query sign.Query) error {
	if c.api.authenticated {
		if !auth.From(c.r.Context()).Has(auth.RoleReader) {
			return unverified(http.StatusForbidden, "Reading the source takes a token with the role reader.")
		}
		return nil
	}
	account, _ := s.accounts.Lookup(from.Account)
	reader := &call{r: c.r, address: address{ref: from}, api: c.api, query: query, op: readSource}
	sas, has, err := sign.Parse(query.Values())
	switch {
	case err == nil && has:
		err = s.authorizeSAS(reader, account, sas)
	case err == nil && c.op.KeyReadsSource && from.Account == c.ref.Account && c.byKey():
		return nil
	case err == nil:
		err = s.authorizeAnonymous(reader)
		if azerr.HasCode(err, azerr.ResourceNotFound) {
			err = azerr.New(azerr.NoAuthenticationInformation).With("The source is not public, so its address needs a shared access signature: the request's own signature does not open it.")
		}
	}
	if err == nil && c.usesSourceTags() {
		err = reader.authorizeTags("Reading the source's tags")
	}
	var e *azerr.Error
	if errors.As(err, &e) {
		return unreadable(e)
	}
	return err
}

// usesSourceTags reports whether the answer depends on the source's tags.
func (c *call) usesSourceTags() bool {
	return c.r.Header.Get(sourceConditions.tags) != "" || c.r.Header.Get(tagOption) == "COPY"
}

// readSource is what a copy does with its source.
var readSource = &operation{Need: sign.Need{Permissions: "r", ResourceType: resourceTypes[atBlob]}, Public: publicBlob}

// byKey reports whether the account's key authorized the request: with that header
// nothing else does.
func (c *call) byKey() bool { return c.r.Header.Get("Authorization") != "" }

// unreadable refuses a source with the status and the words that reading it is
// answered with.
func unreadable(e *azerr.Error) error {
	refusal := *e
	refusal.Code, refusal.Header = azerr.CannotVerifyCopySource, nil
	return &refusal
}

// unverified refuses a source that was not looked up.
func unverified(status int, why string) error {
	err := azerr.New(azerr.CannotVerifyCopySource).With("%s", why)
	err.Status = status
	return err
}
