//go:build unix

package azuretest

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/google/go-cmp/cmp"
)

const (
	holder   = "azure:" + account
	resource = "blob:" + account + "/docs/a/b c.txt"
)

// record is a line of the history, and the data of an event.
type record struct {
	Event    string `json:"event"`
	Resource string `json:"resource"`
	Holder   string `json:"holder"`
	Token    uint64 `json:"token"`
	Reason   string `json:"reason"`
	Details  struct {
		Caller string `json:"caller"`
	} `json:"details"`
}

// leaseRow is a lease as the JSON API lists it.
type leaseRow struct {
	Resource, Holder, Status string
	Token                    uint64
	TTL                      int `json:"ttl_seconds"`
}

// twoAPIs is a blob and its container, with clients of the JSON API and of the
// Azure Blob API.
type twoAPIs struct {
	*server
	json      *raw
	container *container.Client
	blob      *blockblob.Client
}

func openTwoAPIs(t *testing.T) *twoAPIs {
	t.Helper()
	s := serve(t)
	d := &twoAPIs{server: s, json: s.raw(), container: s.container("docs")}
	d.blob = d.container.NewBlockBlobClient("a/b c.txt")
	if _, err := d.blob.UploadBuffer(t.Context(), []byte("hello"), nil); err != nil {
		t.Fatalf("UploadBuffer() = %v", err)
	}
	return d
}

func (d *twoAPIs) leases() (rows []leaseRow) {
	d.Helper()
	var answer struct{ Leases []leaseRow }
	d.json.send("GET", "/v1/leases?prefix=blob:", "").want(http.StatusOK, "").decode(&answer)
	return answer.Leases
}

func (d *twoAPIs) history() []record {
	d.Helper()
	var answer struct{ History []record }
	d.json.send("GET", "/v1/history?prefix=blob:", "").want(http.StatusOK, "").decode(&answer)
	return answer.History
}

// newest checks the newest record of the history.
func (d *twoAPIs) newest(event, resource string) record {
	d.Helper()
	all := d.history()
	if len(all) == 0 || all[0].Event != event || all[0].Resource != resource || all[0].Holder != holder {
		d.Fatalf("the history is %+v, want first that %s of %s is %s", all, resource, holder, event)
	}
	return all[0]
}

func (d *twoAPIs) leaseOf(id string) blobLease { return newBlobLease(d.blob, id) }

// A lease acquired with Azure's SDK is an ordinary lease of this system.
func TestBlobLeaseInJSONAPI(t *testing.T) {
	t.Parallel()
	d := openTwoAPIs(t)
	events := d.listen()
	id := newID()
	if _, err := d.leaseOf(id).AcquireLease(t.Context(), 60, nil); err != nil {
		t.Fatalf("AcquireLease() = %v", err)
	}
	grant := d.newest("acquired", resource)
	if grant.Details.Caller != "127.0.0.1" || grant.Token == 0 {
		t.Errorf("the history has %+v, want the caller's address and a token", grant)
	}
	want := []leaseRow{{Resource: resource, Holder: holder, Status: "active", Token: grant.Token, TTL: 60}}
	if diff := cmp.Diff(want, d.leases()); diff != "" {
		t.Errorf("GET /v1/leases (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(grant, events("acquired")); diff != "" {
		t.Errorf("the event and the history differ (-history +event):\n%s", diff)
	}
	if _, err := d.leaseOf(id).RenewLease(t.Context(), nil); err != nil {
		t.Errorf("RenewLease() = %v", err)
	}
	events("renewed")

	d.checkBreak(id, grant, events)
	d.checkForceRelease(id, grant, events)
	d.checkBreakPeriod(id)
}

// checkBreak: an operator breaks the lease.
func (d *twoAPIs) checkBreak(id string, grant record, events func(string) record) {
	d.Helper()
	d.json.post("/v1/leases/break", `{"resource":"`+grant.Resource+`","reason":"drain"}`).want(http.StatusAccepted, "")
	if got := events("broken"); got.Reason != "drain" || got.Token != grant.Token {
		d.Errorf("the event is %+v, want the reason and token %d", got, grant.Token)
	}
	d.wantState(lease.StateTypeBroken)
	_, err := d.leaseOf(id).RenewLease(d.Context(), nil)
	wantCode(d, "RenewLease(of a broken lease)", err, bloberror.LeaseIsBrokenAndCannotBeRenewed)
}

// checkForceRelease: an operator releases all leases of the account.
func (d *twoAPIs) checkForceRelease(id string, grant record, events func(string) record) {
	d.Helper()
	if _, err := d.leaseOf(id).AcquireLease(d.Context(), -1, nil); err != nil {
		d.Fatalf("AcquireLease() = %v", err)
	}
	if again := events("acquired"); again.Token <= grant.Token {
		d.Errorf("the second grant has token %d, the first %d; want it to grow", again.Token, grant.Token)
	}
	answer := d.json.post("/v1/holders/"+holder+"/release", `{"reason":"machine lost"}`).want(http.StatusOK, "")
	if strings.TrimSpace(answer.body) != `{"released":1}` {
		d.Errorf("force-release = %s, want one lease", answer.body)
	}
	if got := events("force_released"); got.Reason != "machine lost" {
		d.Errorf("the event is %+v, want the reason", got)
	}
	d.wantState(lease.StateTypeAvailable)
	if _, err := d.blob.SetMetadata(d.Context(), nil, nil); err != nil {
		d.Errorf("SetMetadata() after the release = %v", err)
	}
}

// checkBreakPeriod: an operator breaks the lease with a period, and its holder
// releases it before the period ends.
func (d *twoAPIs) checkBreakPeriod(id string) {
	d.Helper()
	if _, err := d.leaseOf(id).AcquireLease(d.Context(), -1, nil); err != nil {
		d.Fatalf("AcquireLease() = %v", err)
	}
	d.json.post("/v1/leases/break", `{"resource":"`+resource+`","break_period_seconds":60}`).want(http.StatusAccepted, "")
	d.wantState(lease.StateTypeBreaking)
	_, err := d.leaseOf(newID()).AcquireLease(d.Context(), -1, nil)
	wantCode(d, "AcquireLease(while it is being broken)", err, bloberror.LeaseAlreadyPresent)
	if _, err := d.leaseOf(id).ReleaseLease(d.Context(), nil); err != nil {
		d.Errorf("ReleaseLease() = %v", err)
	}
	d.newest("released", resource)
}

// The lease of a container is an ordinary lease, too, and both APIs see the same
// data.
func TestContainerLeaseInJSONAPI(t *testing.T) {
	t.Parallel()
	d := openTwoAPIs(t)
	id := newID()
	if err := newContainerLease(d.container, id).acquire(t.Context(), -1); err != nil {
		t.Fatalf("AcquireLease() = %v", err)
	}
	d.newest("acquired", "blob:"+account+"/docs")
	const path = "/blob/" + account + "/docs"
	d.json.send("DELETE", path+"?restype=container", "").want(http.StatusPreconditionFailed, "LeaseIdMissing")
	d.json.send("GET", path+"/a/b%20c.txt", "").wantBody("hello")
	d.json.send("PUT", path+"/a/b%20c.txt", "bye", "X-Ms-Blob-Type", "BlockBlob").want(http.StatusCreated, "")
	if got, err := download(t.Context(), d.blob); string(got) != "bye" || err != nil {
		t.Errorf("the SDK reads %q, %v; want what was written through the JSON API's port", got, err)
	}
	d.json.send("DELETE", path+"?restype=container", "", "X-Ms-Lease-Id", id).want(http.StatusAccepted, "")
	_, err := d.container.GetProperties(t.Context(), nil)
	wantCode(t, "GetProperties(of a deleted container)", err, bloberror.ContainerNotFound)
	if left := d.leases(); len(left) != 0 {
		t.Errorf("GET /v1/leases = %+v after the container was deleted, want none", left)
	}
}

func (d *twoAPIs) wantState(want lease.StateType) {
	d.Helper()
	p, err := d.blob.GetProperties(d.Context(), nil)
	if err != nil || deref(p.LeaseState) != want {
		d.Errorf("GetProperties() = %v, %v; want %v", deref(p.LeaseState), err, want)
	}
}

func wantCode(t testing.TB, what string, err error, code bloberror.Code) {
	t.Helper()
	if !bloberror.HasCode(err, code) {
		t.Errorf("%s = %v, want %s", what, err, code)
	}
}

// listen opens the stream of events. The function that it returns waits for the
// next event, which must be of that kind.
func (d *twoAPIs) listen() func(event string) record {
	d.Helper()
	q, err := http.NewRequestWithContext(d.Context(), "GET", d.address.API+"/v1/events?prefix=blob:", nil)
	if err != nil {
		d.Fatal(err)
	}
	answer, err := d.json.client.Do(q)
	if err != nil || answer.StatusCode != http.StatusOK {
		d.Fatalf("GET /v1/events = %v, %v", answer, err)
	}
	d.Cleanup(func() { answer.Body.Close() })
	data := make(chan string)
	go func() {
		defer close(data)
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				data <- text
			}
		}
	}()
	return func(event string) (r record) {
		d.Helper()
		select {
		case text := <-data:
			if err := json.Unmarshal([]byte(text), &r); err != nil || r.Event != event {
				d.Fatalf("the event is %q, %v; want %s", text, err, event)
			}
		case <-time.After(patience):
			d.Fatalf("no event %s comes", event)
		}
		return r
	}
}
