package sign

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

// calls are requests of many shapes; what they answer does not matter here.
func calls(s source, c *container.Client, b *blockblob.Client) map[string]func(context.Context) {
	metadata := map[string]*string{}
	for range 1 + s.IntN(12) {
		value := s.pick("plain", "two  spaces", "a,b", "x=1;y=2", "")
		metadata[s.word("ab1_-.'", 6)] = &value
	}
	now := time.Now()
	body := func() *bytes.Reader { return bytes.NewReader(make([]byte, s.IntN(3)*7)) }
	prefix, marker, most := s.name(4), s.name(3), int32(7)
	return map[string]func(context.Context){
		"upload": func(ctx context.Context) {
			language, kind := "de, en", "text/plain; charset=utf-8"
			b.Upload(ctx, streaming.NopCloser(body()), &blockblob.UploadOptions{
				Metadata: metadata, Tags: map[string]string{"a b": "c+d/e"},
				HTTPHeaders: &blob.HTTPHeaders{BlobContentLanguage: &language, BlobContentType: &kind},
			})
		},
		"stage":    func(ctx context.Context) { b.StageBlock(ctx, "YWJjZA+/", streaming.NopCloser(body()), nil) },
		"commit":   func(ctx context.Context) { b.CommitBlockList(ctx, []string{"YWJjZA=="}, nil) },
		"snapshot": func(ctx context.Context) { b.BlobClient().CreateSnapshot(ctx, nil) },
		"tags":     func(ctx context.Context) { b.SetTags(ctx, map[string]string{"k": "v"}, nil) },
		"metadata": func(ctx context.Context) { b.SetMetadata(ctx, metadata, nil) },
		"delete":   func(ctx context.Context) { b.Delete(ctx, nil) },
		"read": func(ctx context.Context) {
			b.DownloadStream(ctx, &blob.DownloadStreamOptions{
				Range: blob.HTTPRange{Offset: 3, Count: 9},
				AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{
					IfModifiedSince: &now, IfUnmodifiedSince: &now,
				}},
			})
		},
		"head":   func(ctx context.Context) { b.GetProperties(ctx, nil) },
		"create": func(ctx context.Context) { c.Create(ctx, &container.CreateOptions{Metadata: metadata}) },
		"list": func(ctx context.Context) {
			c.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{
				Prefix: &prefix, Marker: &marker, MaxResults: &most,
				Include: container.ListBlobsInclude{Metadata: true, Snapshots: true},
			}).NextPage(ctx)
		},
		"find": func(ctx context.Context) { c.FilterBlobs(ctx, `"a" > 'b+c' AND "d" = 'é'`, nil) },
	}
}

func TestSDKSharedKey(t *testing.T) {
	account, credential := two(t)
	d := newKeyServer(t, account)
	s := newSource(1)
	endpoints := []string{
		d.URL + "/leasehold2",
		d.URL + "/leasehold2-secondary",
		"http://leasehold2.blob.core.windows.net",
		"http://leasehold2-secondary.blob.example.test:10000",
	}
	for round := range 40 {
		at := endpoints[round%len(endpoints)] + "/" + s.pick("$root", "c-1", "photos")
		c, err := container.NewClientWithSharedKeyCredential(at, credential, &container.ClientOptions{ClientOptions: d.options()})
		if err != nil {
			t.Fatal(err)
		}
		for what, call := range calls(s, c, c.NewBlockBlobClient(s.name(8))) {
			call(t.Context())
			checked, requests := d.checkedSince()
			if len(checked) != 1 || checked[0] != nil {
				t.Errorf("%s %s: SharedKey(%s) = %v, want one success", what, at, targets(requests), checked)
			}
		}
	}
}

func targets(requests []*http.Request) (uris []string) {
	for _, r := range requests {
		uris = append(uris, r.Method+" "+r.RequestURI)
	}
	return uris
}

// Paths that a person wrote reach the server as they are.
func TestSDKRawAddresses(t *testing.T) {
	account, credential := two(t)
	d := newKeyServer(t, account)
	for _, path := range []string{
		"", "/", "//", "/c//b", "/c/a%2Fb", "/c/a%2fb", "/c/a+b", "/c/a%20b", "/c/../x", "/c/.", "/c/%E6%97%A5", "/c/%C3%BC",
		"/c/a;b,c:d@e=f&g!h$i'j(k)*l~m", "/c/%7Etilde", "/c/b?x=1&x=0&a=%2B+%20&empty=&bare",
	} {
		at := d.URL + "/leasehold2" + path
		client, err := blob.NewClientWithSharedKeyCredential(at, credential, &blob.ClientOptions{ClientOptions: d.options()})
		if err != nil {
			t.Fatal(err)
		}
		client.GetProperties(t.Context(), nil)
		checked, requests := d.checkedSince()
		if len(checked) != 1 || checked[0] != nil {
			t.Errorf("SharedKey(%s), sent as %s = %v, want one success", at, targets(requests), checked)
		}
	}
}

func TestSDKService(t *testing.T) {
	account := Development()
	credential, err := blob.NewSharedKeyCredential(account.Name,
		"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==")
	if err != nil {
		t.Fatal(err)
	}
	d := newKeyServer(t, account)
	for _, at := range []string{d.URL + "/devstoreaccount1", d.URL + "/devstoreaccount1/", "http://devstoreaccount1.blob.localhost"} {
		client, err := service.NewClientWithSharedKeyCredential(at, credential, &service.ClientOptions{ClientOptions: d.options()})
		if err != nil {
			t.Fatal(err)
		}
		client.GetProperties(t.Context(), nil)
		client.NewListContainersPager(nil).NextPage(t.Context())
		if checked, _ := d.checkedSince(); fmt.Sprint(checked) != "[<nil> <nil>]" {
			t.Errorf("SharedKey at %s = %v, want two successes", at, checked)
		}
	}
}

// The requests inside of a batch are signed one by one.
func TestSDKBatch(t *testing.T) {
	account, credential := two(t)
	d := newKeyServer(t, account)
	var inner []*http.Request
	catch := func(r *http.Request) {
		_, rest, _ := strings.Cut(readAll(t, r), "DELETE ")
		head, _, _ := strings.Cut(rest, "\r\n\r\n")
		inner = append(inner, readRequest(t, "DELETE "+head+"\r\nHost: x\r\n\r\n"))
	}
	d.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { catch(r) })
	client, err := service.NewClientWithSharedKeyCredential(d.URL+"/leasehold2", credential, &service.ClientOptions{ClientOptions: d.options()})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := client.NewBatchBuilder()
	if err != nil {
		t.Fatal(err)
	}
	if err := batch.Delete("c", "an odd/name+é", nil); err != nil {
		t.Fatal(err)
	}
	client.SubmitBatch(t.Context(), batch, nil)
	if len(inner) != 1 {
		t.Fatalf("%d requests in the batch, want 1", len(inner))
	}
	if err := checkKey(inner[0], account, SentPath(inner[0]), time.Now()); err != nil {
		t.Errorf("SharedKey(%s) = %v, want success", inner[0].RequestURI, err)
	}
}

// What a client signs with a key is also what its SAS URLs carry.
func TestSDKSignedURL(t *testing.T) {
	account, credential := two(t)
	s := newSource(3)
	for range 50 {
		name := s.name(8)
		c, err := container.NewClientWithSharedKeyCredential("http://leasehold2.blob.example.test/c", credential, nil)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := c.NewBlobClient(name).GetSASURL(readOnly, time.Now().Add(time.Hour), nil)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(signed)
		if err != nil {
			t.Fatal(err)
		}
		blobName := strings.TrimPrefix(u.Path, "/c/")
		grant, found, err := Parse(u.Query())
		if err != nil || !found {
			t.Fatalf("Parse(%q) = %v, %v, want a SAS", name, found, err)
		}
		need := Need{ResourceType: 'o', Permissions: "r"}
		if err := grant.Verify(account, Target{Container: "c", Blob: blobName}, need, time.Now(), loopback, false, nil); codeOf(err) != "" && codeOf(err) != "AuthorizationProtocolMismatch" {
			t.Errorf("Verify(%q) = %v, want success or the refusal of HTTP", blobName, err)
		}
		if err := grant.Verify(account, Target{Container: "c", Blob: blobName}, need, time.Now(), loopback, true, nil); err != nil {
			t.Errorf("Verify(%q) = %v, want success", blobName, err)
		}
	}
}
