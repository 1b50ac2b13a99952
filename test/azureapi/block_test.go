package azureapi_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/leasehold/leasehold/azure/catalog"
)

// blockID makes the id of a block.
func blockID(n int) string { return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%06d", n)) }

// blocks shows both lists of a blob: "name:size".
func (d driver) blocks(name string) (committed, uncommitted []string) {
	d.Helper()
	r, err := d.block(name).GetBlockList(d.Context(), blockblob.BlockListTypeAll, nil)
	if err != nil {
		d.Fatalf("GetBlockList(%q) = %v", name, err)
	}
	show := func(list []*blockblob.Block) (shown []string) {
		for _, b := range list {
			shown = append(shown, fmt.Sprintf("%s:%d", value(b.Name), value(b.Size)))
		}
		return shown
	}
	return show(r.CommittedBlocks), show(r.UncommittedBlocks)
}

// TestBlocks stages, commits, and commits again with some of the old blocks.
func TestBlocks(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	one, two, three := blockID(1), blockID(2), blockID(3)
	d.stage("b", two, "two")
	d.stage("b", one, "one")
	d.wantGone(d.blob("b"))
	committed, uncommitted := d.blocks("b")
	wantSame(t, "committed", committed, []string(nil))
	wantSame(t, "uncommitted", uncommitted, []string{two + ":3", one + ":3"})

	made, err := d.block("b").CommitBlockList(t.Context(), []string{one, two, one}, &blockblob.CommitBlockListOptions{
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("text/plain")}, Metadata: texts(map[string]string{"k": "v"}),
		Tags: map[string]string{"t": "u"}, Tier: to.Ptr(blob.AccessTierCold),
	})
	if err != nil {
		t.Fatalf("CommitBlockList = %v", err)
	}
	d.wantContent(d.blob("b"), "onetwoone")
	p := d.properties(d.blob("b"))
	if value(p.ETag) != value(made.ETag) || value(p.ContentType) != "text/plain" || value(p.Metadata["K"]) != "v" || value(p.AccessTier) != "Cold" || p.ContentMD5 != nil {
		t.Errorf("properties after the commit: %+v", p)
	}
	committed, uncommitted = d.blocks("b")
	wantSame(t, "committed", committed, []string{one + ":3", two + ":3", one + ":3"})
	wantSame(t, "uncommitted", uncommitted, []string(nil))

	d.stage("b", two, "TWO")
	d.stage("b", three, "three")
	mixed := fmt.Sprintf(`<BlockList><Committed>%s</Committed><Uncommitted> %s </Uncommitted><Latest>%s</Latest></BlockList>`, two, two, one)
	wantReply(t, "a mixed list", d.signed("PUT", d.path("b")+"?comp=blocklist", mixed), 201, "")
	d.wantContent(d.blob("b"), "twoTWOone")
	if _, left := d.blocks("b"); left != nil {
		t.Errorf("after the commit %q is left, want nothing", left)
	}
	empty := d.signed("PUT", d.path("b")+"?comp=blocklist", `<BlockList></BlockList>`)
	wantReply(t, "an empty list", empty, 201, "")
	d.wantContent(d.blob("b"), "")
}

func TestBlockRefusals(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.upload("b", "before", nil)
	d.stage("b", blockID(1), "one")
	if _, err := d.appendBlob("append").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	list := func(inner string) string { return "<BlockList>" + inner + "</BlockList>" }
	tests := []struct {
		name, path, body string
		status           int
		code             string
	}{
		{"no id", "b?comp=block", "x", 400, "MissingRequiredQueryParameter"},
		{"an id that is no base64", "b?comp=block&blockid=!!!!", "x", 400, "InvalidBlockId"},
		{"an id that is too long", "b?comp=block&blockid=" + strings.Repeat("AAAA", 22), "x", 400, "InvalidBlockId"},
		{"an id of another length", "b?comp=block&blockid=AAAA", "x", 400, "InvalidBlobOrBlock"},
		{"nothing", "b?comp=block&blockid=" + blockID(2), "", 400, "InvalidHeaderValue"},
		{"a block of an append blob", "append?comp=block&blockid=AAAA", "x", 409, "InvalidBlobType"},
		{"a block of no container", "../none/b?comp=block&blockid=AAAA", "x", 404, "ContainerNotFound"},
		{"no list", "b?comp=blocklist", "", 400, "InvalidXmlDocument"},
		{"no XML", "b?comp=blocklist", "{}", 400, "InvalidXmlDocument"},
		{"half a list", "b?comp=blocklist", "<BlockList><Latest>" + blockID(1), 400, "InvalidXmlDocument"},
		{"another document", "b?comp=blocklist", "<Blocks/>", 400, "InvalidXmlDocument"},
		{"another element", "b?comp=blocklist", list("<Oldest>" + blockID(1) + "</Oldest>"), 400, "InvalidXmlDocument"},
		{"text in between", "b?comp=blocklist", list("<Latest>" + blockID(1) + "</Latest>and"), 400, "InvalidXmlDocument"},
		{"an element in an id", "b?comp=blocklist", list("<Latest>" + blockID(1) + "<b/></Latest>"), 400, "InvalidXmlDocument"},
		{"two lists", "b?comp=blocklist", list("") + list(""), 400, "InvalidXmlDocument"},
		{"a document type", "b?comp=blocklist", `<!DOCTYPE b [<!ENTITY e "x">]>` + list("<Latest>&e;</Latest>"), 400, "InvalidXmlDocument"},
		{"a block that is not there", "b?comp=blocklist", list("<Latest>" + blockID(9) + "</Latest>"), 400, "InvalidBlockList"},
		{"a block of the other list", "b?comp=blocklist", list("<Committed>" + blockID(1) + "</Committed>"), 400, "InvalidBlockList"},
		{"too many blocks", "b?comp=blocklist", list(strings.Repeat("<Latest>"+blockID(1)+"</Latest>", catalog.MaxCommitted+1)), 400, "BlockListTooLong"},
		{"a list of an append blob", "append?comp=blocklist", list(""), 409, "InvalidBlobType"},
	}
	for _, tt := range tests {
		path := d.path(tt.path)
		if below, up := strings.CutPrefix(tt.path, "../"); up {
			path = "/" + testAccount + "/" + below
		}
		wantReply(t, tt.name, d.signed("PUT", path, tt.body), tt.status, tt.code)
	}
	d.wantContent(d.blob("b"), "before")
	if _, staged := d.blocks("b"); len(staged) != 1 {
		t.Errorf("staged: %q, want the one from before", staged)
	}
	wantReply(t, "a kind of list", d.signed("GET", d.path("b")+"?comp=blocklist&blocklisttype=odd", ""), 400, "InvalidQueryParameterValue")
	wantReply(t, "blocks of nothing", d.signed("GET", d.path("none")+"?comp=blocklist", ""), 404, "BlobNotFound")
	wantReply(t, "blocks of an append blob", d.signed("GET", d.path("append")+"?comp=blocklist", ""), 409, "InvalidBlobType")
}

// TestBlockListTypes: an answer has the lists that were asked for.
func TestBlockListTypes(t *testing.T) {
	t.Parallel()
	d := newDriver(t)
	d.stage("b", blockID(1), "one")
	d.commit("b", blockID(1))
	d.stage("b", blockID(2), "two")
	for kind, want := range map[string]string{"": "C", "committed": "C", "uncommitted": "U", "all": "CU", "ALL": "CU"} {
		r := d.signed("GET", d.path("b")+"?comp=blocklist&blocklisttype="+kind, "")
		got := ""
		if strings.Contains(r.body, "<CommittedBlocks><Block><Name>"+blockID(1)) {
			got += "C"
		}
		if strings.Contains(r.body, "<UncommittedBlocks><Block><Name>"+blockID(2)) {
			got += "U"
		}
		if got != want || r.header.Get("X-Ms-Blob-Content-Length") != "3" || r.header.Get("ETag") == "" {
			t.Errorf("blocklisttype=%s: %s %v, want the lists %s", kind, r.body, r.header, want)
		}
	}
}
