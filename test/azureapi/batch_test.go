package azureapi_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/server/auth"
)

// has reports whether the blob is there.
func (d *deployment) has(container, name string) bool {
	d.Helper()
	_, err := d.catalog.Head(d.Context(), testRef(container, name), catalog.Access{})
	return err == nil
}

func TestBatch(t *testing.T) {
	d := newDeployment(t)
	client := d.service()
	d.ensure("box")
	for i := range 20 {
		d.put("box", fmt.Sprintf("a b/%d", i), "x")
	}
	(&rawLease{d, testRef("box", "a b/3"), "/" + testAccount + "/box/a%20b/3?comp=lease", d.signed}).try("acquire A for ever")
	builder, err := client.NewBatchBuilder()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 21 {
		if err := builder.Delete("box", fmt.Sprintf("a b/%d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := client.SubmitBatch(t.Context(), builder, nil)
	if err != nil || len(answer.Responses) != 21 {
		t.Fatalf("SubmitBatch = %d answers, %v", len(answer.Responses), err)
	}
	for _, r := range answer.Responses {
		want := map[int]string{3: "LeaseIdMissing", 20: "BlobNotFound"}[*r.ContentID]
		wantCode(t, fmt.Sprintf("Delete %d", *r.ContentID), r.Error, want)
		if value(r.RequestID) == "" {
			t.Errorf("answer %d has no request id", *r.ContentID)
		}
	}
	if d.has("box", "a b/1") || !d.has("box", "a b/3") {
		t.Error("after the batch, a b/1 must be gone and a b/3 be there")
	}
}

func TestBatchTier(t *testing.T) {
	d := newDeployment(t)
	client := d.service()
	d.ensure("box")
	d.put("box", "a", "x")
	builder, _ := client.NewBatchBuilder()
	if err := builder.SetTier("box", "a", blob.AccessTierCool, nil); err != nil {
		t.Fatal(err)
	}
	answer, err := client.SubmitBatch(t.Context(), builder, nil)
	if err != nil || answer.Responses[0].Error != nil {
		t.Fatalf("SubmitBatch = %+v, %v", answer.Responses, err)
	}
	if item, err := d.catalog.Head(t.Context(), testRef("box", "a"), catalog.Access{}); err != nil || item.Tier != "Cool" {
		t.Errorf("tier = %+v, %v, want Cool", item, err)
	}
}

// TestBatchSAS: parts without credentials are authorized by those of the batch,
// each on its own.
func TestBatchSAS(t *testing.T) {
	d := newDeployment(t)
	for _, box := range []string{"box", "other"} {
		d.ensure(box)
		d.put(box, "a", "x")
		d.put(box, "b", "x")
	}
	client := d.bySAS(accountSAS(t, "d", "so", nil))
	builder, err := client.NewBatchBuilder()
	if err != nil {
		t.Fatal(err)
	}
	_ = builder.Delete("box", "a", nil)
	answer, err := client.SubmitBatch(t.Context(), builder, nil)
	if err != nil || answer.Responses[0].Error != nil || d.has("box", "a") {
		t.Errorf("with an account SAS: %+v, %v", answer.Responses, err)
	}
	values := sas.BlobSignatureValues{ContainerName: "box", ExpiryTime: time.Now().Add(time.Hour).UTC(), Permissions: "d"}
	q, err := values.SignWithSharedKey(credential(t))
	if err != nil {
		t.Fatal(err)
	}
	r := d.send("POST", "/"+testAccount+"/box?restype=container&comp=batch&"+q.Encode(), parts("DELETE /devstoreaccount1/box/b HTTP/1.1\r\n\r\n"), "Content-Type", batchType)
	if r.status != 202 || !strings.Contains(r.body, "HTTP/1.1 202") || d.has("box", "b") {
		t.Errorf("with a container's SAS: %d %s", r.status, r.body)
	}
	// The key of the batch does not open its parts.
	r = d.signed("POST", "/"+testAccount+"?comp=batch", parts("DELETE /devstoreaccount1/other/a HTTP/1.1\r\n\r\n"), "Content-Type", batchType)
	if r.status != 202 || !strings.Contains(r.body, "HTTP/1.1 401") || !d.has("other", "a") {
		t.Errorf("parts without a signature: %d %s", r.status, r.body)
	}
	// On the main port the caller is in already.
	r = d.send("POST", "/blob/"+testAccount+"?comp=batch", parts("DELETE /blob/devstoreaccount1/other/a HTTP/1.1\r\n\r\n"), "Content-Type", batchType)
	if r.status != 202 || !strings.Contains(r.body, "HTTP/1.1 202") || d.has("other", "a") {
		t.Errorf("on the main port: %d %s", r.status, r.body)
	}
}

// TestBatchSignedParts: a part with a signature of its own is authorized by it as
// it was sent, whatever authorized the batch.
func TestBatchSignedParts(t *testing.T) {
	d := newDeployment(t)
	d.ensure("box")
	d.put("box", "a", "x")
	d.put("box", "b", "x")
	signedPart := func(name, version string) string {
		r := d.request("DELETE", "/"+testAccount+"/box/"+name, "", "X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
		if version != "" {
			r.Header.Set("X-Ms-Version", version)
		}
		signAsIs(r, sign.Development())
		var b bytes.Buffer
		_ = r.Header.Write(&b) // to memory
		return "DELETE " + r.URL.Path + " HTTP/1.1\r\n" + b.String() + "\r\n"
	}
	// The grant of the batch allows no deletion: only their own signatures do.
	path := "/" + testAccount + "?comp=batch&" + accountSAS(t, "w", "so", nil)
	r := d.send("POST", path, parts(signedPart("a", ""), signedPart("b", "2025-01-05")), "Content-Type", batchType, "x-ms-version", "2024-11-04")
	if r.status != 202 || strings.Count(r.body, "HTTP/1.1 202") != 2 || d.has("box", "a") || d.has("box", "b") {
		t.Errorf("signed parts in a batch with a SAS = %d %s, want both deleted", r.status, r.body)
	}
}

// TestBatchVersion: a part without a version and without a signature speaks the
// batch's.
func TestBatchVersion(t *testing.T) {
	d := newDeployment(t)
	r := d.signed("POST", "/"+testAccount+"?comp=batch", parts("DELETE /devstoreaccount1/box/b HTTP/1.1\r\n\r\n"), "Content-Type", batchType, "x-ms-version", "2024-11-04")
	if r.status != 202 || !strings.Contains(r.body, "x-ms-version: 2024-11-04\r\n") {
		t.Errorf("a part of a batch in 2024-11-04 = %d %s", r.status, r.body)
	}
}

// TestBatchIsCounted: on the main port a batch of n parts counts as n requests
// of the token, and the parts beyond its rate are refused.
func TestBatchIsCounted(t *testing.T) {
	d := newDeployment(t)
	d.ensure("box")
	var requests []string
	for i := range 6 {
		d.put("box", fmt.Sprint(i), "x")
		requests = append(requests, fmt.Sprintf("DELETE /blob/%s/box/%d HTTP/1.1\r\n\r\n", testAccount, i))
	}
	tokens := filepath.Join(t.TempDir(), "tokens")
	secret, err := auth.CreateToken(tokens, auth.TokenSpec{Name: "one", Roles: []auth.Role{auth.RoleHolder}})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := auth.New(&auth.Options{TokenFile: tokens, Rate: 0.001, Burst: 4, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	w := httptest.NewRecorder()
	r := d.request("POST", "/blob/"+testAccount+"?comp=batch", parts(requests...), "Content-Type", batchType, "Authorization", "Bearer "+secret)
	guard.Wrap(d.server.PlainHandler()).ServeHTTP(w, r)
	answers := strings.Split(w.Body.String(), "--batchresponse")[1:]
	if w.Code != 202 || len(answers) != len(requests)+1 {
		t.Fatalf("a batch of %d = %d %s", len(requests), w.Code, w.Body)
	}
	for i := range requests {
		name, answer := fmt.Sprint(i), answers[i]
		switch done := !d.has("box", name); {
		case i < 4 && (!done || !strings.Contains(answer, "HTTP/1.1 202")):
			t.Errorf("part %d, within the burst = %s, want 202", i, answer)
		case i >= 4 && done:
			t.Errorf("part %d was done beyond the rate", i)
		case i >= 4 && !(strings.Contains(answer, "HTTP/1.1 503") && strings.Contains(answer, "x-ms-error-code: ServerBusy\r\n") && retryAfter.MatchString(answer)):
			t.Errorf("part %d, beyond the rate = %s, want 503 ServerBusy and when to come back", i, answer)
		}
	}
}

// retryAfter is about a thousand seconds, which one request takes.
var retryAfter = regexp.MustCompile(`(?m)^Retry-After: (99\d|1000)\r$`)

const batchType = "multipart/mixed; boundary=edge"

// parts is a batch of these requests.
func parts(requests ...string) string {
	var b strings.Builder
	for i, r := range requests {
		fmt.Fprintf(&b, "--edge\r\nContent-Type: application/http\r\nContent-ID: %d\r\n\r\n%s\r\n", i, r)
	}
	return b.String() + "--edge--\r\n"
}

// TestBatchRefusals: a batch with a mistake in it changes nothing.
func TestBatchRefusals(t *testing.T) {
	d := newDeployment(t)
	d.ensure("box")
	d.ensure("other")
	d.put("box", "a", "x")
	const good = "DELETE /blob/devstoreaccount1/box/a HTTP/1.1\r\n\r\n"
	const service, container = "?comp=batch", "/box?restype=container&comp=batch"
	for name, test := range map[string]struct{ path, contentType, body, want string }{
		"no type":            {service, "", parts(good), "400 InvalidInput"},
		"another type":       {service, "multipart/form-data; boundary=edge", parts(good), "400 InvalidInput"},
		"no boundary":        {service, "multipart/mixed", parts(good), "400 InvalidInput"},
		"another boundary":   {service, "multipart/mixed; boundary=ledge", parts(good), "400 InvalidInput"},
		"empty":              {service, batchType, "", "400 InvalidInput"},
		"no part":            {service, batchType, "--edge--\r\n", "400 InvalidInput"},
		"no end":             {service, batchType, strings.TrimSuffix(parts(good), "--edge--\r\n"), "400 InvalidInput"},
		"a part of no type":  {service, batchType, strings.Replace(parts(good, good), "Content-Type: application/http", "X: y", 1), "400 InvalidInput"},
		"nonsense":           {service, batchType, parts(good, "hello"), "400 InvalidInput"},
		"an empty part":      {service, batchType, parts(good, ""), "400 InvalidInput"},
		"a body":             {service, batchType, parts(good, "DELETE /blob/devstoreaccount1/box/a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), "400 InvalidInput"},
		"a chunked body":     {service, batchType, parts(good, "DELETE /blob/devstoreaccount1/box/a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "400 InvalidInput"},
		"another operation":  {service, batchType, parts(good, "PUT /blob/devstoreaccount1/box?restype=container HTTP/1.1\r\n\r\n"), "400 InvalidInput"},
		"a batch in it":      {service, batchType, parts(good, "POST /blob/devstoreaccount1?comp=batch HTTP/1.1\r\n\r\n"), "400 InvalidInput"},
		"no operation":       {service, batchType, parts(good, "DELETE /blob/devstoreaccount1/box/a?comp=magic HTTP/1.1\r\n\r\n"), "400 InvalidInput"},
		"another account":    {service, batchType, parts(good, "DELETE /blob/otheraccount/box/a HTTP/1.1\r\n\r\n"), "400 InvalidInput"},
		"no account":         {service, batchType, parts(good, "DELETE /blob/nobody/box/a HTTP/1.1\r\n\r\n"), "400 InvalidInput"},
		"another container":  {container, batchType, parts(good, "DELETE /blob/devstoreaccount1/other/a HTTP/1.1\r\n\r\n"), "400 InvalidInput"},
		"a URL":              {service, batchType, parts(good, "DELETE http://evil.example/blob/devstoreaccount1/box/a HTTP/1.1\r\n\r\n"), "400 InvalidInput"},
		"outside of the API": {service, batchType, parts(good, "DELETE /v1/leases HTTP/1.1\r\n\r\n"), "400 InvalidInput"},
		"an id with a break": {service, batchType, strings.Replace(parts(good), "Content-ID: 0", "Content-ID: \x01", 1), "400 InvalidInput"},
		"too many":           {service, batchType, parts(many(257, good)...), "400 InvalidInput"},
		"too large":          {service, batchType, parts(good, strings.Repeat("x", 4<<20)), "413 RequestBodyTooLarge"},
	} {
		r := d.send("POST", "/blob/"+testAccount+test.path, test.body, "Content-Type", test.contentType)
		if got := statusAndCode(r); got != test.want {
			t.Errorf("%s = %s, want %s", name, got, test.want)
		}
		if !d.has("box", "a") {
			t.Fatalf("%s: the blob is gone", name)
		}
	}
	r := d.send("POST", "/blob/"+testAccount+service, parts(many(256, good)...), "Content-Type", batchType)
	if r.status != 202 || strings.Count(r.body, "HTTP/1.1 202") != 1 || strings.Count(r.body, "HTTP/1.1 404") != 255 {
		t.Errorf("256 times the same = %d, %d deleted it", r.status, strings.Count(r.body, "HTTP/1.1 202"))
	}
}

func many(n int, s string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}
