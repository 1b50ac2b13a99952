package azureapi_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
)

// recorded are facts that recordings of Azure show, each with the SDK and with
// signed requests as they are.
var recorded = []struct {
	fact     string
	sdk, raw func(driver)
}{
	{"a search answers with the tags that it names", sdkFoundTags, rawFoundTags},
	{"expressions over tags are checked", sdkExpressions, rawExpressions},
	{"block ids have one length", sdkBlockIDs, rawBlockIDs},
	{"a copy of a sealed blob is sealed", sdkSealedCopy, rawSealedCopy},
	{"Set Blob Properties clears what is not sent", sdkClearedHeaders, rawClearedHeaders},
	{"a source is readable by itself", sdkSources, rawSources},
	{"Put Blob and Put Block List tell a CRC-64", sdkChecksums, rawChecksums},
	{"conditions hold on uncommitted blobs", sdkUncommitted, rawUncommitted},
	{"archived blobs and snapshots cannot be read", sdkArchived, rawArchived},
	{"reads of a snapshot name it", sdkSnapshotHeader, rawSnapshotHeader},
	{"codes of refusals", sdkCodes, rawCodes},
	{"errors to HEAD have no body", sdkHeadErrors, rawHeadErrors},
	{"messages begin with Azure's sentence", sdkMessages, rawMessages},
	{"Vary goes with the rule that matched", sdkVary, rawVary},
}

func TestRecordedFacts(t *testing.T) {
	t.Parallel()
	for _, row := range recorded {
		for by, show := range map[string]func(driver){"SDK": row.sdk, "raw": row.raw} {
			t.Run(row.fact+"/"+by, func(t *testing.T) {
				t.Parallel()
				show(newDriver(t))
			})
		}
	}
}

func sdkFoundTags(d driver) {
	d.upload("b", "x", &blockblob.UploadOptions{Tags: map[string]string{"a": "1", "b": "2", "c": "3"}})
	for where, want := range map[string]map[string]string{
		`"a" = '1'`:                             {"a": "1"},
		`"c" > '1' AND "a" <= '2'`:              {"a": "1", "c": "3"},
		`@container = 'box' AND "b" >= '2'`:     {"b": "2"},
		`"a" >= '0' AND "a" < '5' AND "b" ='2'`: {"a": "1", "b": "2"},
	} {
		found, err := d.service().FilterBlobs(d.Context(), where, nil)
		if err != nil || len(found.Blobs) != 1 {
			d.Fatalf("FilterBlobs(%s) = %d blobs, %v, want one", where, len(found.Blobs), err)
		}
		got := map[string]string{}
		for _, tag := range found.Blobs[0].Tags.BlobTagSet {
			got[value(tag.Key)] = value(tag.Value)
		}
		wantSame(d, where, got, want)
	}
	wantSame(d, "the blob's own tags", len(d.tags(d.blob("b"))), 3)
}

func rawFoundTags(d driver) {
	d.signed("PUT", d.path("b"), "x", "x-ms-blob-type", "BlockBlob", "x-ms-tags", "a=1&b=2")
	for _, path := range []string{"?comp=blobs", "/box?restype=container&comp=blobs"} {
		r := d.signed("GET", "/"+testAccount+path+"&where="+url.QueryEscape(`"b"='2'`), "")
		if !strings.Contains(r.body, "<TagSet><Tag><Key>b</Key><Value>2</Value></Tag></TagSet>") {
			d.Errorf("GET %s = %d %s, want the tag b alone", path, r.status, r.body)
		}
	}
}

// expressions, and whether they can be.
func expressions() map[string]bool {
	eleven := make([]string, 11)
	for i := range eleven {
		eleven[i] = fmt.Sprintf(`"k%d" = 'v'`, i)
	}
	long := strings.Repeat("k", 128)
	return map[string]bool{
		`"` + long + `" = '` + long + long + `'`:      true,
		`"` + long + `k" = 'v'`:                       false,
		`"k" = '` + long + long + `v'`:                false,
		`"k!" = 'v'`:                                  false,
		`"k" = 'v%'`:                                  false,
		`"k" = 'ü'`:                                   false,
		`"k +-./:=_" = ' +-./:=_'`:                    true,
		strings.Join(eleven[:10], " AND "):            true,
		strings.Join(eleven[:], " AND "):              false,
		strings.Repeat(`"k" > '1' AND `, 10) + `k>''`: true, // one tag, however often
	}
}

func sdkExpressions(d driver) {
	d.upload("b", "x", nil)
	for where, can := range expressions() {
		code := "InvalidQueryParameterValue"
		if can {
			code = ""
		}
		_, err := d.service().FilterBlobs(d.Context(), where, nil)
		wantCode(d, fmt.Sprintf("FilterBlobs(%.60s)", where), err, code)
		if !can && statusOf(err) != 400 {
			d.Errorf("FilterBlobs(%.60s) = %d, want 400", where, statusOf(err))
		}
	}
}

func rawExpressions(d driver) {
	d.upload("b", "x", nil)
	for where, can := range expressions() {
		find := d.signed("GET", "/"+testAccount+"?comp=blobs&where="+url.QueryEscape(where), "")
		guarded := d.signed("PUT", d.path("b")+"?comp=metadata", "", "x-ms-if-tags", where)
		none := d.signed("PUT", d.path("none")+"?comp=metadata", "", "x-ms-if-tags", where)
		if can {
			wantReply(d, "Find "+where, find, 200, "")
			wantReply(d, "if "+where, guarded, 412, "ConditionNotMet")
			wantReply(d, "if "+where+" of nothing", none, 404, "BlobNotFound")
			continue
		}
		wantReply(d, "Find "+where, find, 400, "InvalidQueryParameterValue")
		wantReply(d, "if "+where, guarded, 400, "InvalidHeaderValue")
		wantReply(d, "if "+where+" of nothing", none, 400, "InvalidHeaderValue")
	}
}

func sdkBlockIDs(d driver) {
	d.stage("b", blockID(1), "one")
	_, err := d.block("b").StageBlock(d.Context(), "AAAA", bodyOf("two"), nil)
	wantCode(d, "StageBlock of another length", err, "InvalidBlobOrBlock")
	if statusOf(err) != 400 {
		d.Errorf("StageBlock of another length = %d, want 400", statusOf(err))
	}
	_, uncommitted := d.blocks("b")
	wantSame(d, "what is staged", uncommitted, []string{blockID(1) + ":3"})
}

func rawBlockIDs(d driver) {
	put := func(id string) reply { return d.signed("PUT", d.path("b")+"?comp=block&blockid="+id, "x") }
	wantReply(d, "the first id", put("AAAA"), 201, "")
	wantReply(d, "the same length", put("BBBB"), 201, "")
	wantReply(d, "another length", put("AAAAAAAA"), 400, "InvalidBlobOrBlock")
	wantReply(d, "the list", d.signed("PUT", d.path("b")+"?comp=blocklist", "<BlockList><Latest>AAAA</Latest></BlockList>"), 201, "")
	wantReply(d, "another upload", put("AAAAAAAA"), 201, "")
	wantReply(d, "a length of the version before", put("AAAA"), 400, "InvalidBlobOrBlock")
}

func sdkSealedCopy(d driver) {
	if _, err := d.appendBlob("sealed").Create(d.Context(), nil); err != nil {
		d.Fatal(err)
	}
	if _, err := d.appendBlob("sealed").Seal(d.Context(), nil); err != nil {
		d.Fatal(err)
	}
	for name, tt := range map[string]struct {
		seal *bool
		want bool
	}{"as it is": {nil, true}, "to be sealed": {to.Ptr(true), true}, "not to be sealed": {to.Ptr(false), false}} {
		_, err := d.blob(name).StartCopyFromURL(d.Context(), d.blob("sealed").URL(), &blob.StartCopyFromURLOptions{SealBlob: tt.seal})
		wantCode(d, "a copy "+name, err, "")
		if got := value(d.properties(d.blob(name)).IsSealed); got != tt.want {
			d.Errorf("a copy %s is sealed: %t, want %t", name, got, tt.want)
		}
		code := ""
		if tt.want {
			code = "BlobIsSealed"
		}
		_, err = d.appendBlob(name).AppendBlock(d.Context(), bodyOf("x"), nil)
		wantCode(d, "AppendBlock to a copy "+name, err, code)
	}
}

func rawSealedCopy(d driver) {
	d.signed("PUT", d.path("open"), "", "x-ms-blob-type", "AppendBlob")
	for value, want := range map[string]int{"true": 202, "False": 202, "perhaps": 400} {
		r := d.signed("PUT", d.path("copy"+value), "", "x-ms-copy-source", testHost+d.path("open"), "x-ms-seal-blob", value)
		if r.status != want {
			d.Errorf("x-ms-seal-blob: %s = %d %s, want %d", value, r.status, r.code(), want)
		}
		if got := d.signed("HEAD", d.path("copy"+value), "").header.Get("X-Ms-Blob-Sealed"); (got == "true") != (value == "true") {
			d.Errorf("x-ms-seal-blob: %s makes a copy with x-ms-blob-sealed: %q", value, got)
		}
	}
}

func sdkClearedHeaders(d driver) {
	d.upload("b", "x", &blockblob.UploadOptions{HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("my/type"), BlobCacheControl: to.Ptr("no-store")}})
	d.upload("plain", "x", nil)
	if got := value(d.properties(d.blob("plain")).ContentType); got != "application/octet-stream" {
		d.Errorf("a blob that was put without a type has %q, want application/octet-stream", got)
	}
	sum := md5Of("not the content")
	if _, err := d.blob("b").SetHTTPHeaders(d.Context(), blob.HTTPHeaders{BlobContentMD5: sum}, nil); err != nil {
		d.Fatal(err)
	}
	p := d.properties(d.blob("b"))
	if p.ContentType != nil || p.CacheControl != nil {
		d.Errorf("type %q and cache control %q, want neither", value(p.ContentType), value(p.CacheControl))
	}
	wantSame(d, "the MD5, as it was sent", p.ContentMD5, sum)
	page, err := d.box.NewListBlobsFlatPager(nil).NextPage(d.Context())
	if err != nil || value(page.Segment.BlobItems[0].Properties.ContentType) != "" {
		d.Errorf("the list has a type: %v, %v", page.Segment, err)
	}
	if _, err := d.blob("copy").StartCopyFromURL(d.Context(), d.blob("b").URL(), nil); err != nil {
		d.Fatal(err)
	}
	if p := d.properties(d.blob("copy")); p.ContentType != nil {
		d.Errorf("the copy has the type %q, want none", value(p.ContentType))
	}
}

func rawClearedHeaders(d driver) {
	d.signed("PUT", d.path("b"), "<html>", "x-ms-blob-type", "BlockBlob", "Content-Type", "text/html")
	wantReply(d, "Set Blob Properties", d.signed("PUT", d.path("b")+"?comp=properties", "", "x-ms-blob-cache-control", "no-store"), 200, "")
	for _, method := range []string{"GET", "HEAD"} {
		h := d.signed(method, d.path("b"), "").header
		if _, has := h["Content-Type"]; has || h.Get("Cache-Control") != "no-store" {
			d.Errorf("%s has the type %q and cache control %q, want none and no-store", method, h["Content-Type"], h.Get("Cache-Control"))
		}
	}
	typed := d.signed("PUT", d.path("b")+"?comp=properties", "", "x-ms-blob-content-type", "a/b")
	wantReply(d, "Set Blob Properties", typed, 200, "")
	wantSame(d, "the type, and nothing else", only(d.signed("HEAD", d.path("b"), "").header, "Content-Type", "Cache-Control"), map[string]string{"Content-Type": "a/b"})
}

func sdkSources(d driver) {
	d.upload("from", pages("x", 1), nil)
	if _, err := d.appendBlob("append").Create(d.Context(), nil); err != nil {
		d.Fatal(err)
	}
	if _, err := d.page("page").Create(d.Context(), 512, nil); err != nil {
		d.Fatal(err)
	}
	for source, code := range map[string]string{d.blob("from").URL(): "CannotVerifyCopySource", d.readable("from"): ""} {
		_, err := d.block("to").UploadBlobFromURL(d.Context(), source, nil)
		wantCode(d, "UploadBlobFromURL", err, code)
		_, err = d.block("to").StageBlockFromURL(d.Context(), blockID(1), source, nil)
		wantCode(d, "StageBlockFromURL", err, code)
		_, err = d.appendBlob("append").AppendBlockFromURL(d.Context(), source, nil)
		wantCode(d, "AppendBlockFromURL", err, code)
		_, err = d.page("page").UploadPagesFromURL(d.Context(), source, 0, 0, 512, nil)
		wantCode(d, "UploadPagesFromURL", err, code)
		_, err = d.blob("copy").StartCopyFromURL(d.Context(), source, nil)
		wantCode(d, "StartCopyFromURL", err, "") // the key opens it
	}
}

func rawSources(d driver) {
	d.upload("from", "text", nil)
	from := testHost + d.path("from")
	put := func(source string) reply {
		return d.signed("PUT", d.path("to"), "", "x-ms-blob-type", "BlockBlob", "x-ms-copy-source", source)
	}
	alone := put(from)
	wantReply(d, "a private source", alone, 401, "CannotVerifyCopySource")
	if !strings.Contains(alone.body, "shared access signature") {
		d.Errorf("the refusal does not say what is missing: %s", alone.body)
	}
	wantReply(d, "with a grant", put(d.readable("from")), 201, "")
	wantReply(d, "what is not there", put(d.readable("none")), 404, "CannotVerifyCopySource")
	d.signed("PUT", "/"+testAccount+"/box?restype=container&comp=acl", "", "x-ms-blob-public-access", "blob")
	wantReply(d, "a public source", put(from), 201, "")
}

func sdkChecksums(d driver) {
	r, err := d.block("b").Upload(d.Context(), bodyOf("content"), nil)
	if err != nil {
		d.Fatal(err)
	}
	wantSame(d, "the CRC-64 of Put Blob", r.ContentCRC64, crcOf("content"))
	wantSame(d, "the MD5 of Put Blob", r.ContentMD5, md5Of("content"))
	d.stage("b", blockID(1), "content")
	var answer *http.Response
	c, err := d.block("b").CommitBlockList(policy.WithCaptureResponse(d.Context(), &answer), []string{blockID(1)}, nil)
	if err != nil || len(c.ContentCRC64) != 8 {
		d.Fatalf("CommitBlockList tells the CRC-64 %x, %v", c.ContentCRC64, err)
	}
	if answer.Header.Get("X-Ms-Content-Crc64") == "AAAAAAAAAAA=" || string(c.ContentCRC64) == string(crcOf("content")) {
		d.Errorf("the CRC-64 of Put Block List is not that of the list")
	}
}

func rawChecksums(d driver) {
	r := d.signed("PUT", d.path("b"), "content", "x-ms-blob-type", "BlockBlob", "Content-MD5", base64.StdEncoding.EncodeToString(md5Of("content")))
	wantSame(d, "Put Blob", only(r.header, "X-Ms-Content-Crc64", "Content-Md5"),
		map[string]string{"X-Ms-Content-Crc64": base64.StdEncoding.EncodeToString(crcOf("content")), "Content-Md5": base64.StdEncoding.EncodeToString(md5Of("content"))})
	const list = "<BlockList/>"
	r = d.signed("PUT", d.path("b")+"?comp=blocklist", list, "Content-MD5", base64.StdEncoding.EncodeToString(md5Of(list)))
	wantSame(d, "Put Block List", only(r.header, "X-Ms-Content-Crc64", "Content-Md5"),
		map[string]string{"X-Ms-Content-Crc64": base64.StdEncoding.EncodeToString(crcOf(list)), "Content-Md5": base64.StdEncoding.EncodeToString(md5Of(list))})
}
