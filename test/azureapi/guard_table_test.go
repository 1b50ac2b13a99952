package azureapi_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/pageblob"

	"github.com/leasehold/leasehold/azure/catalog"
)

// guardPage is what a lease does to requests that are no lease operations.
const guardPage = `
request          | available            | leased(A)           | breaking(A)         | broken(A)            | expired(A)
write with A     | 412 LeaseNotPresent* | ok                  | ok                  | 412 LeaseNotPresent* | 412 LeaseNotPresent*
write with B     | 412 LeaseNotPresent* | 412 LeaseIdMismatch*| 412 LeaseIdMismatch*| 412 LeaseNotPresent* | 412 LeaseNotPresent*
write without id | ok                   | 412 LeaseIdMissing  | 412 LeaseIdMissing  | ok, available        | ok, available
read with A      | 412 LeaseNotPresent* | ok                  | ok                  | 412 LeaseNotPresent* | 412 LeaseNotPresent*
read with B      | 412 LeaseNotPresent* | 412 LeaseIdMismatch*| 412 LeaseIdMismatch*| 412 LeaseNotPresent* | 412 LeaseNotPresent*
read without id  | ok                   | ok                  | ok                  | ok                   | ok
`

// plainGuardPage: there is one code for every id that is not the lease's.
const plainGuardPage = `
request          | available           | leased(A)           | breaking(A)         | broken(A)           | expired(A)
write with A     | 412 LeaseIdMismatch | ok                  | ok                  | 412 LeaseIdMismatch | 412 LeaseIdMismatch
write with B     | 412 LeaseIdMismatch | 412 LeaseIdMismatch | 412 LeaseIdMismatch | 412 LeaseIdMismatch | 412 LeaseIdMismatch
write without id | ok                  | 412 LeaseIdMissing  | 412 LeaseIdMissing  | ok, available       | ok, available
read with A      | 412 LeaseIdMismatch | ok                  | ok                  | 412 LeaseIdMismatch | 412 LeaseIdMismatch
read with B      | 412 LeaseIdMismatch | 412 LeaseIdMismatch | 412 LeaseIdMismatch | 412 LeaseIdMismatch | 412 LeaseIdMismatch
read without id  | ok                  | ok                  | ok                  | ok                  | ok
`

// guarded is a request of the SDK that a lease has a say in.
type guarded struct {
	name string
	kind catalog.Kind
	call func(d *deployment, c *container.Client, name string, id *string) error
}

func leaseOf(id *string) *blob.LeaseAccessConditions { return &blob.LeaseAccessConditions{LeaseID: id} }

func conditionsOf(id *string) *blob.AccessConditions {
	return &blob.AccessConditions{LeaseAccessConditions: leaseOf(id)}
}

func bodyOf(text string) io.ReadSeekCloser { return streaming.NopCloser(strings.NewReader(text)) }

var oneBlock = "QUFBQQ=="

// guardedWrites are all requests that change a blob.
var guardedWrites = []guarded{
	{"Put Blob", catalog.Block, func(d *deployment, c *container.Client, name string, id *string) error {
		_, err := c.NewBlockBlobClient(name).Upload(d.Context(), bodyOf("new"), &blockblob.UploadOptions{AccessConditions: conditionsOf(id)})
		return err
	}},
	{"Put Block", catalog.Block, func(d *deployment, c *container.Client, name string, id *string) error {
		_, err := c.NewBlockBlobClient(name).StageBlock(d.Context(), oneBlock, bodyOf("new"), &blockblob.StageBlockOptions{LeaseAccessConditions: leaseOf(id)})
		return err
	}},
	{"Put Block List", catalog.Block, func(d *deployment, c *container.Client, name string, id *string) error {
		_, err := c.NewBlockBlobClient(name).CommitBlockList(d.Context(), nil, &blockblob.CommitBlockListOptions{AccessConditions: conditionsOf(id)})
		return err
	}},
	{"Set Blob Metadata", catalog.Block, func(d *deployment, c *container.Client, name string, id *string) error {
		_, err := c.NewBlobClient(name).SetMetadata(d.Context(), map[string]*string{"a": to.Ptr("b")}, &blob.SetMetadataOptions{AccessConditions: conditionsOf(id)})
		return err
	}},
	{"Set Blob Properties", catalog.Block, func(d *deployment, c *container.Client, name string, id *string) error {
		_, err := c.NewBlobClient(name).SetHTTPHeaders(d.Context(), blob.HTTPHeaders{}, &blob.SetHTTPHeadersOptions{AccessConditions: conditionsOf(id)})
		return err
	}},
	{"Copy Blob", catalog.Block, func(d *deployment, c *container.Client, name string, id *string) error {
		_, err := c.NewBlobClient(name).StartCopyFromURL(d.Context(), c.NewBlobClient("source").URL(), &blob.StartCopyFromURLOptions{AccessConditions: conditionsOf(id)})
		return err
	}},
	{"Delete Blob", catalog.Block, func(d *deployment, c *container.Client, name string, id *string) error {
		_, err := c.NewBlobClient(name).Delete(d.Context(), &blob.DeleteOptions{AccessConditions: conditionsOf(id)})
		return err
	}},
	{"Append Block", catalog.Append, func(d *deployment, c *container.Client, name string, id *string) error {
		_, err := c.NewAppendBlobClient(name).AppendBlock(d.Context(), bodyOf("new"), &appendblob.AppendBlockOptions{AccessConditions: conditionsOf(id)})
		return err
	}},
	{"Put Page", catalog.Page, func(d *deployment, c *container.Client, name string, id *string) error {
		page := strings.Repeat("p", 512)
		_, err := c.NewPageBlobClient(name).UploadPages(d.Context(), bodyOf(page), blob.HTTPRange{Count: 512}, &pageblob.UploadPagesOptions{AccessConditions: conditionsOf(id)})
		return err
	}},
}

// guardedReads are requests that read a blob.
var guardedReads = []guarded{
	{"Get Blob", catalog.Block, func(d *deployment, c *container.Client, name string, id *string) error {
		r, err := c.NewBlobClient(name).DownloadStream(d.Context(), &blob.DownloadStreamOptions{AccessConditions: conditionsOf(id)})
		if err == nil {
			err = r.Body.Close()
		}
		return err
	}},
	{"Get Blob Properties", catalog.Block, func(d *deployment, c *container.Client, name string, id *string) error {
		_, err := c.NewBlobClient(name).GetProperties(d.Context(), &blob.GetPropertiesOptions{AccessConditions: conditionsOf(id)})
		return err
	}},
	{"Get Block List", catalog.Block, func(d *deployment, c *container.Client, name string, id *string) error {
		_, err := c.NewBlockBlobClient(name).GetBlockList(d.Context(), blockblob.BlockListTypeAll, &blockblob.GetBlockListOptions{AccessConditions: conditionsOf(id)})
		return err
	}},
}

func TestGuardTableOfBlobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDeployment(t)
		d.ensure("blobs")
		d.put("blobs", "source", "the source")
		client := d.service().NewContainerClient("blobs")
		for i, c := range cells(t, guardPage) {
			verb, how, _ := strings.Cut(c.row, " ")
			requests := guardedWrites
			if verb == "read" {
				requests = guardedReads
			}
			for _, r := range requests {
				name := fmt.Sprintf("%s %d", r.name, i)
				d.blank(r.kind, name)
				thing := d.leasedBlob(name)
				enterState(t, thing, c.column)
				before := thing.state()
				answer := guardAnswer(r.call(d, client, name, idOf(how)))
				checkGuard(t, d, thing, r.name, c, answer, before, "WithBlobOperation")
			}
		}
	})
}

func TestGuardTableOfContainers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDeployment(t)
		for i, c := range cells(t, guardPage) {
			verb, how, _ := strings.Cut(c.row, " ")
			name := fmt.Sprintf("container-%d", i)
			thing := sdkContainer(d, name)
			enterState(t, thing, c.column)
			before := thing.state()
			client := d.service().NewContainerClient(name)
			access := &container.LeaseAccessConditions{LeaseID: idOf(how)}
			var err error
			if verb == "read" {
				_, err = client.GetProperties(t.Context(), &container.GetPropertiesOptions{LeaseAccessConditions: access})
				_, set := client.SetMetadata(t.Context(), &container.SetMetadataOptions{LeaseAccessConditions: access})
				if a, b := guardAnswer(err), guardAnswer(set); a != b {
					t.Errorf("%s when %s: reading = %s, setting metadata = %s, want the same", c.row, c.column, a, b)
				}
			} else {
				_, err = client.Delete(t.Context(), &container.DeleteOptions{AccessConditions: &container.AccessConditions{LeaseAccessConditions: access}})
			}
			if err == nil && verb == "write" {
				if !strings.HasPrefix(c.want, "ok") {
					t.Errorf("Delete Container: %s when %s = ok, want %s", c.row, c.column, c.want)
				}
				continue
			}
			checkGuard(t, d, thing, "container", c, guardAnswer(err), before, "WithContainerOperation")
		}
	})
}

func TestGuardTableOfThePlainAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDeployment(t)
		for i, c := range cells(t, plainGuardPage) {
			verb, how, _ := strings.Cut(c.row, " ")
			name := fmt.Sprintf("blob-%d", i)
			thing := plainBlob(d, name)
			enterState(t, thing, c.column)
			before := thing.state()
			path := "/blob/" + testAccount + "/blobs/" + name
			method, body, headers := "GET", "", []string{}
			if verb == "write" {
				method, body, headers = "PUT", "new", []string{"x-ms-blob-type", "BlockBlob"}
			}
			if id := idOf(how); id != nil {
				headers = append(headers, "x-ms-lease-id", *id)
			}
			r := d.send(method, path, body, headers...)
			answer := "ok"
			if r.status >= 300 {
				answer = fmt.Sprintf("%d %s", r.status, r.code())
			}
			checkGuard(t, d, thing, "the plain API", c, answer, before, "")
		}
	})
}

// idOf reads "with A" and "without id".
func idOf(how string) *string {
	if id, ok := leaseIDs[strings.TrimPrefix(how, "with ")]; ok {
		return &id
	}
	return nil
}

func guardAnswer(err error) string {
	if err == nil {
		return "ok"
	}
	return fmt.Sprintf("%d %s", statusOf(err), codeOf(err))
}

// checkGuard compares an answer with its cell, where an asterisk stands for
// what the lease is of.
func checkGuard(t *testing.T, d *deployment, thing leased, what string, c cell, answer, before, suffix string) {
	t.Helper()
	want, becomes, changes := strings.Cut(strings.ReplaceAll(c.want, "*", suffix), ", ")
	if answer != want {
		t.Errorf("%s: %s when %s = %s, want %s", what, c.row, c.column, answer, want)
		return
	}
	if answer == "ok" && what == "Delete Blob" {
		return
	}
	if !changes {
		becomes = before
	}
	if got := thing.state(); got != becomes {
		t.Errorf("%s: %s when %s: the lease is %s, want %s", what, c.row, c.column, got, becomes)
	}
}

// leasedBlob is the lease of a blob that is there already.
func (d *deployment) leasedBlob(name string) leased {
	path := "/" + testAccount + "/blobs/" + strings.ReplaceAll(name, " ", "%20") + "?comp=lease"
	return &rawLease{d, testRef("blobs", name), path, d.signed}
}

// blank makes an empty blob of a kind; block blobs have a word in them.
func (d *deployment) blank(kind catalog.Kind, name string) {
	d.Helper()
	if kind == catalog.Block {
		d.put("blobs", name, "old")
		return
	}
	if _, err := d.catalog.PutEmpty(d.Context(), testRef("blobs", name), kind, 1024*int64(kind-catalog.Append), 0, catalog.New{}, catalog.Access{}); err != nil {
		d.Fatalf("PutEmpty(%q) = %v", name, err)
	}
}
