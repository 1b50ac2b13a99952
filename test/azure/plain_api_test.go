//go:build unix

package azuretest

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	plainPath = "/blob/" + account + "/zure"
	idA       = "aaaaaaaa-0000-4000-8000-000000000001"
	idB       = "bbbbbbbb-0000-4000-8000-000000000002"
	idC       = "cccccccc-0000-4000-8000-000000000003"
)

// put creates a blob under /blob/ and returns its path.
func (r *raw) put(name, content string) string {
	r.Helper()
	path := plainPath + "/" + name
	r.send("PUT", path, content, "X-Ms-Blob-Type", "BlockBlob").want(http.StatusCreated, "")
	return path
}

// lease sends a lease operation. Headers are pairs, without X-Ms-Lease-.
func (r *raw) lease(path, action string, headers ...string) reply {
	r.Helper()
	all := []string{"X-Ms-Lease-Action", action}
	for i := 0; i+1 < len(headers); i += 2 {
		name := "X-Ms-Lease-" + headers[i]
		if headers[i] == "Proposed" {
			name = "X-Ms-Proposed-Lease-Id"
		}
		all = append(all, name, headers[i+1])
	}
	return r.send("PUT", path+"?comp=lease", "", all...)
}

func (r *raw) acquire(path, id string) {
	r.Helper()
	r.lease(path, "acquire", "Duration", "-1", "Proposed", id).want(http.StatusCreated, "")
}

// each sends all operations that need the id of a lease.
func (r *raw) each(path, id string, check func(reply)) {
	r.Helper()
	check(r.lease(path, "renew", "Id", id))
	check(r.lease(path, "change", "Id", id, "Proposed", newID()))
	check(r.lease(path, "release", "Id", id))
}

// plainRules are what the plain API, under /blob/ on the JSON API's port, answers
// differently from Azure. The rule for an expired lease is tested last, because
// it waits for the expiry.
var plainRules = []struct {
	name  string
	check func(r *raw, s *server)
}{
	{"nobody signs on a port without tokens", checkUnsigned},
	{"a delete without x-ms-delete-snapshots keeps snapshots", checkOrphans},
	{"LeaseNotFound if no id is on record", checkNoLease},
	{"LeaseNotFound if it was broken", checkBroken},
	{"LeaseIdMismatch while it is active or breaking", checkOtherID},
	{"LeaseIdMismatch for a write with an id on an unleased blob", checkUnleased},
	{"LeaseIdMissing as in Azure", checkMissing},
	{"LeaseAlreadyPresent for a held one", checkHeld},
	{"a list has the base first", checkBaseFirst},
	{"six digits of a snapshot's id", checkSixDigits},
	{"short forms, in any account", checkShortForms},
}

func TestPlainAPI(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.container("zure")
	main := s.raw()
	expiring := main.put("expiring", "")
	main.lease(expiring, "acquire", "Duration", "15", "Proposed", idA).want(http.StatusCreated, "")
	acquired := time.Now()
	for _, rule := range plainRules {
		t.Run(rule.name, func(t *testing.T) { rule.check(main.as(t, ""), s) })
	}
	t.Run("LeaseNotFound if it expired", func(t *testing.T) {
		time.Sleep(time.Until(acquired.Add(15*time.Second + 500*time.Millisecond))) // the shortest lease, by the clock of another process
		checkGone(main.as(t, ""), expiring)
	})
}

func checkUnsigned(r *raw, s *server) {
	path := r.put("open", "anybody")
	r.send("GET", path, "").wantBody("anybody")
	answer, err := r.client.Get(s.address.Blob + strings.TrimPrefix(path, "/blob"))
	if err != nil {
		r.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode/100 == 2 {
		r.Errorf("the Azure Blob API answers %s to an unsigned request", answer.Status)
	}
}

func notFound(answer reply) {
	answer.Helper()
	answer.want(http.StatusNotFound, "LeaseNotFound")
}

func mismatch(answer reply) {
	answer.Helper()
	answer.want(http.StatusPreconditionFailed, "LeaseIdMismatch")
}

func checkNoLease(r *raw, _ *server) {
	path := r.put("never-leased", "")
	r.each(path, idA, notFound)
	notFound(r.lease(path, "break"))
	r.acquire(path, idA)
	r.lease(path, "release", "Id", idA).want(http.StatusOK, "")
	r.each(path, idA, notFound)
	notFound(r.lease(path, "break"))
}

// checkGone: the former holder and others get the same answer, and anybody can
// acquire.
func checkGone(r *raw, path string) {
	r.Helper()
	r.each(path, idA, notFound)
	r.each(path, idB, notFound)
	notFound(r.lease(path, "break"))
	r.acquire(path, idB)
}

func checkBroken(r *raw, _ *server) {
	path := r.put("broken", "")
	r.acquire(path, idA)
	r.lease(path, "break", "Break-Period", "0").want(http.StatusAccepted, "")
	checkGone(r, path)
}

func checkOtherID(r *raw, _ *server) {
	path := r.put("held", "kept")
	r.acquire(path, idA)
	for _, state := range []string{"active", "breaking"} {
		r.each(path, idC, mismatch)
		mismatch(r.send("PUT", path, "stolen", "X-Ms-Blob-Type", "BlockBlob", "X-Ms-Lease-Id", idC))
		mismatch(r.send("DELETE", path, "", "X-Ms-Lease-Id", idC))
		if state == "active" {
			r.lease(path, "break", "Break-Period", "60").want(http.StatusAccepted, "")
		}
	}
	r.send("GET", path, "").wantBody("kept")
}

func checkUnleased(r *raw, _ *server) {
	path := r.put("unleased", "kept")
	mismatch(r.send("PUT", path, "x", "X-Ms-Blob-Type", "BlockBlob", "X-Ms-Lease-Id", idA))
	r.send("GET", path, "").wantBody("kept")
}

func checkMissing(r *raw, _ *server) {
	path := r.put("guarded", "kept")
	r.acquire(path, idA)
	r.send("PUT", path, "x", "X-Ms-Blob-Type", "BlockBlob").want(http.StatusPreconditionFailed, "LeaseIdMissing")
	r.send("DELETE", path, "").want(http.StatusPreconditionFailed, "LeaseIdMissing")
	r.send("PUT", path+"?comp=metadata", "", "X-Ms-Meta-A", "1").want(http.StatusPreconditionFailed, "LeaseIdMissing")
	r.send("GET", path, "").wantBody("kept")
	r.send("PUT", path, "mine", "X-Ms-Blob-Type", "BlockBlob", "X-Ms-Lease-Id", strings.ToUpper(idA)).want(http.StatusCreated, "")
}

func checkShortForms(r *raw, _ *server) {
	const path = "/blob/theiraccount/short"
	r.send("PUT", path+"?restype=container", "").want(http.StatusCreated, "")
	r.send("PUT", path+"/note.txt", "a note").want(http.StatusCreated, "")
	r.send("GET", path+"/note.txt", "").wantBody("a note")
	r.acquire(path, idA)
	r.send("DELETE", path+"?restype=container", "").want(http.StatusPreconditionFailed, "LeaseIdMissing")
	r.send("DELETE", path+"?restype=container", "", "X-Ms-Lease-Id", idA).want(http.StatusAccepted, "")
}

func checkHeld(r *raw, _ *server) {
	path := r.put("wanted", "")
	r.acquire(path, idA)
	r.lease(path, "acquire", "Duration", "-1").want(http.StatusConflict, "LeaseAlreadyPresent")
	r.lease(path, "acquire", "Duration", "15", "Proposed", idB).want(http.StatusConflict, "LeaseAlreadyPresent")
}
