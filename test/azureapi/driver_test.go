package azureapi_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/pageblob"
	"github.com/google/go-cmp/cmp"
)

// driver uses one container of a deployment with the SDK.
type driver struct {
	*deployment
	box *container.Client // "box"
}

func newDriver(t testing.TB) driver {
	t.Helper()
	d := newDeployment(t)
	return driver{d, d.container("box")}
}

func (d driver) block(name string) *blockblob.Client       { return d.box.NewBlockBlobClient(name) }
func (d driver) blob(name string) *blob.Client             { return d.box.NewBlobClient(name) }
func (d driver) appendBlob(name string) *appendblob.Client { return d.box.NewAppendBlobClient(name) }
func (d driver) page(name string) *pageblob.Client         { return d.box.NewPageBlobClient(name) }

// path of a blob, for raw requests.
func (d driver) path(name string) string { return "/" + testAccount + "/box/" + name }

// readable is the address of a blob with a grant to read it and its tags, as
// operations need it that read a source for themselves.
func (d driver) readable(name string) string {
	d.Helper()
	return testHost + d.path(name) + "?" + blobSAS(d, "box", name, "rt")
}

// upload puts a block blob and returns its ETag.
func (d driver) upload(name, text string, o *blockblob.UploadOptions) azcore.ETag {
	d.Helper()
	r, err := d.block(name).Upload(d.Context(), bodyOf(text), o)
	if err != nil {
		d.Fatalf("Upload(%q) = %v", name, err)
	}
	return value(r.ETag)
}

// stage stages a block of a blob.
func (d driver) stage(name, id, text string) {
	d.Helper()
	if _, err := d.block(name).StageBlock(d.Context(), id, bodyOf(text), nil); err != nil {
		d.Fatalf("StageBlock(%q, %q) = %v", name, id, err)
	}
}

// commit makes a blob of blocks.
func (d driver) commit(name string, ids ...string) {
	d.Helper()
	if _, err := d.block(name).CommitBlockList(d.Context(), ids, nil); err != nil {
		d.Fatalf("CommitBlockList(%q, %q) = %v", name, ids, err)
	}
}

// snapshot creates one and returns its id.
func (d driver) snapshot(name string) string {
	d.Helper()
	r, err := d.blob(name).CreateSnapshot(d.Context(), nil)
	if err != nil {
		d.Fatalf("CreateSnapshot(%q) = %v", name, err)
	}
	return value(r.Snapshot)
}

// at is the client of a snapshot.
func (d driver) at(name, snapshot string) *blob.Client {
	d.Helper()
	c, err := d.blob(name).WithSnapshot(snapshot)
	if err != nil {
		d.Fatal(err)
	}
	return c
}

// download reads a blob or a snapshot.
func (d driver) download(c *blob.Client) string {
	d.Helper()
	r, err := c.DownloadStream(d.Context(), nil)
	if err != nil {
		d.Fatalf("DownloadStream(%s) = %v", c.URL(), err)
	}
	return d.readAll(r.Body)
}

func (d driver) readAll(body io.ReadCloser) string {
	d.Helper()
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		d.Fatal(err)
	}
	return string(data)
}

// wantContent checks what a blob holds.
func (d driver) wantContent(c *blob.Client, want string) {
	d.Helper()
	if got := d.download(c); got != want {
		d.Errorf("the content of %s is %.60q, want %.60q", c.URL(), got, want)
	}
}

// properties of a blob or a snapshot.
func (d driver) properties(c *blob.Client) blob.GetPropertiesResponse {
	d.Helper()
	p, err := c.GetProperties(d.Context(), nil)
	if err != nil {
		d.Fatalf("GetProperties(%s) = %v", c.URL(), err)
	}
	return p
}

// wantGone checks that there is no such blob or snapshot.
func (d driver) wantGone(c *blob.Client) {
	d.Helper()
	_, err := c.GetProperties(d.Context(), nil)
	wantCode(d, "GetProperties("+c.URL()+")", err, "BlobNotFound")
}

// wantReply checks status and code of an answer; "" is success.
func wantReply(t testing.TB, what string, r reply, status int, code string) {
	t.Helper()
	if r.status != status || r.code() != code {
		t.Errorf("%s = %d %s, want %d %s", what, r.status, r.code(), status, code)
	}
}

// wantSame compares, and says what differs.
func wantSame(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

// texts of pointers, as the SDK has them.
func texts(m map[string]string) map[string]*string {
	p := map[string]*string{}
	for k, v := range m {
		p[k] = to.Ptr(v)
	}
	return p
}

// only keeps the headers that a test is about.
func only(h http.Header, names ...string) map[string]string {
	kept := map[string]string{}
	for _, name := range names {
		if v := h.Get(name); v != "" {
			kept[name] = v
		}
	}
	return kept
}
