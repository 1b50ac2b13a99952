package main

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/open"
)

// callServer asks the server that the user means something that is no lease
// operation. The caller closes the answer's body.
func (a *app) callServer(ctx context.Context, method, target string, header http.Header) (*http.Response, error) {
	secret, err := a.secret()
	if err != nil {
		return nil, err
	}
	address, config, err := open.ServerTLS(a.url(), nil)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(address, "/")+target, nil)
	if err != nil {
		return nil, usagef("the store URL cannot be read; want http://host:port")
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if secret != "" {
		request.Header.Set("Authorization", "Bearer "+secret)
	}
	answer, err := oneOff(config).Do(request)
	if err != nil {
		return nil, &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: "call", Store: "remote", Cause: err}
	}
	return answer, nil
}

// oneOff is a client for a single call.
func oneOff(config *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
}
