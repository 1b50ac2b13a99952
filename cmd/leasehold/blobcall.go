package main

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/open"
	"github.com/leasehold/leasehold/server/auth"
)

var defaultAccount = sign.Development().Name

// maxBlobAnswer bounds what is read of an answer.
const maxBlobAnswer = 16 << 20

// blobCall asks the running server about blobs, through the paths of its main
// port, with the token that the user has for it.
func (a *app) blobCall(ctx context.Context, method string, path []string, query string, header http.Header) ([]byte, error) {
	if !strings.HasPrefix(open.Scheme(a.url()), "http") {
		return nil, usagef("blobs are asked of a running server; --store must be its http:// address")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for i, part := range path {
		path[i] = url.PathEscape(part)
	}
	answer, err := a.callServer(ctx, method, auth.BlobPath+strings.Join(path, "/")+"?"+query, header)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBlobAnswer))
	if err != nil {
		return nil, &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: "blob", Store: "remote", Cause: err}
	}
	if answer.StatusCode/100 != 2 {
		return nil, blobRefusal(answer, body)
	}
	return body, nil
}

// blobRefusal is the server's refusal, in its words.
func blobRefusal(answer *http.Response, body []byte) error {
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return &leasehold.Error{Reason: leasehold.ReasonUnauthenticated, Op: "blob", Store: "remote"}
	}
	var e struct{ Code, Message string }
	if xml.Unmarshal(body, &e) != nil || e.Code == "" {
		return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: "blob", Store: "remote",
			Cause: fmt.Errorf("something answered %s that is no Azure Blob door; does the server have one?", answer.Status)}
	}
	code := exitConflict
	if answer.StatusCode == http.StatusNotFound {
		code = exitNotFound
	}
	return &exitError{code, e.Code + ": " + plainMessage(e.Message)}
}

// plainMessage is a message of the Azure Blob door in one line, without the id
// and the time of the request.
func plainMessage(message string) string {
	var kept []string
	for line := range strings.SplitSeq(message, "\n") {
		if !strings.HasPrefix(line, "RequestId:") && !strings.HasPrefix(line, "Time:") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, " ")
}
