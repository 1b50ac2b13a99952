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

// twoDoors is a blob, its container, and both doors to them.
type twoDoors struct {
	*server
	main      *raw
	container *container.Client
	blob      *blockblob.Client
}

func openTwoDoors(t *testing.T) *twoDoors {
	t.Helper()
	s := serve(t)
	d := &twoDoors{server: s, main: s.raw(), container: s.container("docs")}
	d.blob = d.container.NewBlockBlobClient("a/b c.txt")
	if _, err := d.blob.UploadBuffer(t.Context(), []byte("hello"), nil); err != nil {
		t.Fatalf("UploadBuffer() = %v", err)
	}
	return d
}

func (d *twoDoors) leases() (rows []leaseRow) {
	d.Helper()
	var answer struct{ Leases []leaseRow }
	d.main.send("GET", "/v1/leases?prefix=blob:", "").want(http.StatusOK, "").read(&answer)
	return answer.Leases
}

func (d *twoDoors) history() []record {
	d.Helper()
	var answer struct{ History []record }
	d.main.send("GET", "/v1/history?prefix=blob:", "").want(http.StatusOK, "").read(&answer)
	return answer.History
}

// newest checks the newest record of the history.
func (d *twoDoors) newest(event, resource string) record {
	d.Helper()
	all := d.history()
	if len(all) == 0 || all[0].Event != event || all[0].Resource != resource || all[0].Holder != holder {
		d.Fatalf("the history is %+v, want first that %s of %s is %s", all, resource, holder, event)
	}
	return all[0]
}

func (d *twoDoors) leaseOf(id string) *lease.BlobClient {
	d.Helper()
	c, err := lease.NewBlobClient(d.blob, &lease.BlobClientOptions{LeaseID: &id})
	if err != nil {
		d.Fatal(err)
	}
	return c
}

// A lease taken with Azure's SDK is an ordinary lease of this system.
func TestOneTruth(t *testing.T) {
	t.Parallel()
	d := openTwoDoors(t)
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

	d.breakIt(id, grant, events)
	d.releaseAll(id, grant, events)
	d.letItFinish(id)
}

// breakIt: an operator breaks the lease.
func (d *twoDoors) breakIt(id string, grant record, events func(string) record) {
	d.Helper()
	d.main.post("/v1/leases/break", `{"resource":"`+grant.Resource+`","reason":"drain"}`).want(http.StatusAccepted, "")
	if got := events("broken"); got.Reason != "drain" || got.Token != grant.Token {
		d.Errorf("the event is %+v, want the reason and token %d", got, grant.Token)
	}
	d.wantState(lease.StateTypeBroken)
	_, err := d.leaseOf(id).RenewLease(d.Context(), nil)
	wantCode(d, "RenewLease(of a broken lease)", err, bloberror.LeaseIsBrokenAndCannotBeRenewed)
}

// releaseAll: an operator releases whatever the account has.
func (d *twoDoors) releaseAll(id string, grant record, events func(string) record) {
	d.Helper()
	if _, err := d.leaseOf(id).AcquireLease(d.Context(), -1, nil); err != nil {
		d.Fatalf("AcquireLease() = %v", err)
	}
	if again := events("acquired"); again.Token <= grant.Token {
		d.Errorf("the second grant has token %d, the first %d; want it to grow", again.Token, grant.Token)
	}
	answer := d.main.post("/v1/holders/"+holder+"/release", `{"reason":"machine lost"}`).want(http.StatusOK, "")
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

// letItFinish: an operator breaks the lease in a while, and its holder releases
// it before.
func (d *twoDoors) letItFinish(id string) {
	d.Helper()
	if _, err := d.leaseOf(id).AcquireLease(d.Context(), -1, nil); err != nil {
		d.Fatalf("AcquireLease() = %v", err)
	}
	d.main.post("/v1/leases/break", `{"resource":"`+resource+`","break_period_seconds":60}`).want(http.StatusAccepted, "")
	d.wantState(lease.StateTypeBreaking)
	_, err := d.leaseOf(newID()).AcquireLease(d.Context(), -1, nil)
	wantCode(d, "AcquireLease(while it is being broken)", err, bloberror.LeaseAlreadyPresent)
	if _, err := d.leaseOf(id).ReleaseLease(d.Context(), nil); err != nil {
		d.Errorf("ReleaseLease() = %v", err)
	}
	d.newest("released", resource)
}

// The lease of a container is one, too, and both doors see the same data.
func TestOneTruthOfContainers(t *testing.T) {
	t.Parallel()
	d := openTwoDoors(t)
	id := newID()
	client, err := lease.NewContainerClient(d.container, &lease.ContainerClientOptions{LeaseID: &id})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.AcquireLease(t.Context(), -1, nil); err != nil {
		t.Fatalf("AcquireLease() = %v", err)
	}
	d.newest("acquired", "blob:"+account+"/docs")
	const path = "/blob/" + account + "/docs"
	d.main.send("DELETE", path+"?restype=container", "").want(http.StatusPreconditionFailed, "LeaseIdMissing")
	d.main.send("GET", path+"/a/b%20c.txt", "").wantBody("hello")
	d.main.send("PUT", path+"/a/b%20c.txt", "bye", "X-Ms-Blob-Type", "BlockBlob").want(http.StatusCreated, "")
	if got, err := download(t.Context(), d.blob); string(got) != "bye" || err != nil {
		t.Errorf("the SDK reads %q, %v; want what was written at the other door", got, err)
	}
	d.main.send("DELETE", path+"?restype=container", "", "X-Ms-Lease-Id", id).want(http.StatusAccepted, "")
	_, err = d.container.GetProperties(t.Context(), nil)
	wantCode(t, "GetProperties(of a deleted container)", err, bloberror.ContainerNotFound)
	if left := d.leases(); len(left) != 0 {
		t.Errorf("GET /v1/leases = %+v after the container was deleted, want none", left)
	}
}

func (d *twoDoors) wantState(want lease.StateType) {
	d.Helper()
	p, err := d.blob.GetProperties(d.Context(), nil)
	if err != nil || value(p.LeaseState) != want {
		d.Errorf("GetProperties() = %v, %v; want %v", value(p.LeaseState), err, want)
	}
}

func wantCode(t testing.TB, what string, err error, code bloberror.Code) {
	t.Helper()
	if !bloberror.HasCode(err, code) {
		t.Errorf("%s = %v, want %s", what, err, code)
	}
}

// listen opens the stream of events. What it returns waits for the next event,
// which must be of that kind.
func (d *twoDoors) listen() func(event string) record {
	d.Helper()
	q, err := http.NewRequestWithContext(d.Context(), "GET", d.doors.API+"/v1/events?prefix=blob:", nil)
	if err != nil {
		d.Fatal(err)
	}
	answer, err := d.main.client.Do(q)
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
