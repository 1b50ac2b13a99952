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

// source is what a copy comes from. Shown is its address as the copy remembers
// it: without a signature, which is as good as a key to whoever reads it.
type source struct {
	catalog.Ref
	shown string
}

// source finds out which blob or snapshot a copy comes from, and whether the
// caller may read it. Only blobs of this server can be copied: it fetches
// nothing from elsewhere, whoever asks it to.
func (s *Server) source(c *call) (source, error) {
	if c.r.Header.Get("x-ms-copy-source-authorization") != "" {
		return source{}, unverified(http.StatusUnauthorized, "This server knows no bearer tokens: sign the address of the source.")
	}
	u, err := parseSource(c.r.Header.Get(sourceHeader))
	if err != nil {
		return source{}, err
	}
	from, query, err := s.locateSource(c, u)
	if err != nil {
		return source{}, err
	}
	return from, s.mayRead(c, from.Ref, query)
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

// locateSource finds out what the address names.
func (s *Server) locateSource(c *call, u *url.URL) (source, sign.Query, error) {
	d := c.dialect
	if d.prefix != "" && !strings.HasPrefix(u.EscapedPath(), d.prefix+"/") {
		d = azure
	}
	at, rest, err := s.accountOf(&http.Request{URL: u, Host: u.Host}, d)
	if err == nil {
		at, err = at.name(rest, "")
	}
	switch {
	case err != nil || !s.own(u, c.r.Host):
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
	from := source{at.Ref, u.Scheme + "://" + u.Host + u.EscapedPath()}
	if from.Snapshot, err = snapshotIn(query, "snapshot"); err != nil {
		return source{}, nil, badHeader(sourceHeader, "its snapshot is no snapshot's id")
	}
	if from.IsSnapshot() {
		from.shown += "?snapshot=" + from.Snapshot.String()
	}
	return from, query, nil
}

// own reports whether a URL is one of this server's: it has the host that the
// request was sent to, or names an account by its host.
func (s *Server) own(u *url.URL, host string) bool {
	if strings.EqualFold(u.Host, host) {
		return true
	}
	_, known := s.accounts.Lookup(firstLabel(u.Host))
	return known
}

// mayRead reports whether the caller may read the source, and its tags if the
// request is about them: by a signature in its address, because it is public, by
// the main port's word, or, for Copy Blob alone, by the key of the same account.
func (s *Server) mayRead(c *call, from catalog.Ref, query sign.Query) error {
	if c.dialect.open {
		if !auth.From(c.r.Context()).Has(auth.RoleReader) {
			return unverified(http.StatusForbidden, "Reading the source takes a token with the role reader.")
		}
		return nil
	}
	account, _ := s.accounts.Lookup(from.Account)
	reader := &call{r: c.r, ref: from, dialect: c.dialect, query: query, op: readSource}
	sas, has, err := sign.Parse(query.Values())
	switch {
	case err == nil && has:
		err = s.allowSAS(reader, account, sas)
	case err == nil && c.op.KeyOpensSource && from.Account == c.ref.Account && c.byKey():
		return nil
	case err == nil:
		err = s.allowAnybodySource(reader)
	}
	if err == nil && c.asksSourceTags() {
		err = reader.mayTag("Reading the source's tags")
	}
	var f *azerr.Error
	if errors.As(err, &f) {
		return unreadable(f)
	}
	return err
}

// allowAnybodySource is allowAnybody, but says what a source without a signature
// lacks.
func (s *Server) allowAnybodySource(reader *call) error {
	err := s.allowAnybody(reader)
	if isFault(err, azerr.ResourceNotFound) {
		return azerr.New(azerr.NoAuthenticationInformation).With("The source is not public, so its address needs a shared access signature: the request's own signature does not open it.")
	}
	return err
}

// asksSourceTags reports whether the answer depends on the source's tags.
func (c *call) asksSourceTags() bool {
	return c.r.Header.Get(sourceConditions.tags) != "" || c.r.Header.Get(tagOption) == "COPY"
}

// readSource is what a copy does with its source.
var readSource = &operation{Need: sign.Need{Permissions: "r", ResourceType: resourceTypes[atBlob]}, Public: publicBlob}

// byKey reports whether the account's key let the request in: what comes with
// that header is judged by it alone.
func (c *call) byKey() bool { return c.r.Header.Get("Authorization") != "" }

// unreadable is how the refusal of a source is told, in the words that reading it
// would have been answered with.
func unreadable(f *azerr.Error) error {
	told := *f
	told.Code, told.Header = azerr.CannotVerifyCopySource, nil
	return &told
}

// unverified is how a source is refused that was not even looked up.
func unverified(status int, why string) error {
	f := azerr.New(azerr.CannotVerifyCopySource).With("%s", why)
	f.Status = status
	return f
}
