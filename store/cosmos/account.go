package cosmos

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// account is what the SDK has learnt about the account: it asks for it before
// its first request and every few minutes. As a policy of the client's pipeline
// it reads along.
type account struct {
	severalWriters atomic.Bool
}

// properties are those of an account that matter here.
type properties struct {
	Several  bool              `json:"enableMultipleWriteLocations"`
	Writable []json.RawMessage `json:"writableLocations"`
}

// Do implements policy.Policy.
func (a *account) Do(req *policy.Request) (*http.Response, error) {
	resp, err := req.Next()
	if err != nil || req.Raw().Method != http.MethodGet || strings.Trim(req.Raw().URL.Path, "/") != "" || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	body, err := runtime.Payload(resp) // keeps it for the SDK
	if err != nil {
		return resp, err
	}
	var p properties
	if json.Unmarshal(body, &p) == nil {
		a.severalWriters.Store(p.Several || len(p.Writable) > 1)
	}
	return resp, nil
}

var errSeveralWriters = errors.New("the account has several write regions, where two can be granted the same lease; use one with a single write region")

// check refuses an account that is not safe.
func (a *account) check() error {
	if a.severalWriters.Load() {
		return errSeveralWriters
	}
	return nil
}

// emulator is a policy for loopback, where only emulators are. npm's
// cosmosdb-server answers 500 to the read of a document that is not there, unless
// the request has the header of a query.
type emulator struct{}

// Do implements policy.Policy.
func (emulator) Do(req *policy.Request) (*http.Response, error) {
	req.Raw().Header.Set("x-ms-documentdb-query-enablecrosspartition", "True")
	return req.Next()
}
