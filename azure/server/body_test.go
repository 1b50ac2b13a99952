package server

import (
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// FuzzXML: no document makes a reader fail, or is refused without a code.
func FuzzXML(f *testing.F) {
	for _, seed := range []string{
		"<SignedIdentifiers/>", "<StorageServiceProperties><Cors/></StorageServiceProperties>", "<a>&b;</a>", "<!DOCTYPE a><a/>",
		"\xef\xbb\xbf" + xmlHead + "<SignedIdentifiers><SignedIdentifier><Id>&#65;</Id></SignedIdentifier></SignedIdentifiers>",
		strings.Repeat("<a>", 100), "<?xml version='1.0' encoding='latin-1'?><a/>", "<a></b>", "<a/><b/>",
		"<StorageServiceProperties><Logging><Read>maybe</Read></Logging></StorageServiceProperties>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		policies, err := parsePolicies(data)
		checkXMLRefusal(t, err)
		if len(policies) > maxPolicies {
			t.Errorf("%d policies", len(policies))
		}
		var p properties
		if err := parseXML(data, &p); err != nil {
			checkXMLRefusal(t, err)
			return
		}
		checkXMLRefusal(t, p.validate())
	})
}

func checkXMLRefusal(t *testing.T, err error) {
	t.Helper()
	var f *azerr.Error
	if err != nil && (!errors.As(err, &f) || f.Status >= 500 && f.Code != azerr.NotImplemented) {
		t.Errorf("%v is no refusal", err)
	}
}

// FuzzBatch: no body makes the reader of batches fail.
func FuzzBatch(f *testing.F) {
	f.Add(batchType, []byte(parts("DELETE /devstoreaccount1/box/a HTTP/1.1\r\n\r\n", "PUT /a?comp=tier HTTP/1.1\r\nx-ms-access-tier: Cool\r\n\r\n")))
	f.Add("multipart/mixed; boundary=\"a b\"", []byte("--a b\r\n\r\n--a b--"))
	f.Add(batchType, []byte("--edge\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nGET / HTTP/1.1\r\n\r\n--edge--"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		found, err := parseBatch(contentType, body)
		var refusal *azerr.Error
		switch {
		case err != nil && (!errors.As(err, &refusal) || refusal.Code != azerr.InvalidInput):
			t.Errorf("%v, want InvalidInput", err)
		case err == nil && (len(found) == 0 || len(found) > maxBatch):
			t.Errorf("a batch of %d", len(found))
		}
	})
}

// FuzzBlockList: a list is read or refused by name, and read again the same.
func FuzzBlockList(f *testing.F) {
	f.Add(`<BlockList><Latest>AAAA</Latest><Committed>BBBB</Committed><Uncommitted>CCCC</Uncommitted></BlockList>`)
	f.Add(`<?xml version="1.0" encoding="utf-8"?><BlockList> <Latest/> </BlockList>`)
	f.Add(`<BlockList><Latest>A<x>B</x></Latest>`)
	f.Add("\xef\xbb\xbf<BlockList/>")
	f.Fuzz(func(t *testing.T, text string) {
		var list blockList
		if err := parseXML([]byte(text), &list); err != nil {
			var known *azerr.Error
			if !errors.As(err, &known) {
				t.Errorf("parseXML(%q) = %v, want an Azure error", text, err)
			}
			return
		}
		names := map[catalog.BlockSource]string{catalog.Latest: "Latest", catalog.Committed: "Committed", catalog.Uncommitted: "Uncommitted"}
		var again strings.Builder
		again.WriteString("<BlockList>")
		for _, b := range list.blocks {
			again.WriteString("<" + names[b.From] + ">")
			if err := xml.EscapeText(&again, []byte(b.ID)); err != nil {
				t.Fatal(err)
			}
			again.WriteString("</" + names[b.From] + ">")
		}
		again.WriteString("</BlockList>")
		var second blockList
		if err := parseXML([]byte(again.String()), &second); err != nil {
			t.Fatalf("parseXML(%q) = %v", again.String(), err)
		}
		if !slices.Equal(second.blocks, list.blocks) {
			t.Errorf("%v read again is %v", list.blocks, second.blocks)
		}
	})
}

const batchType = "multipart/mixed; boundary=edge"

// parts is a batch of these requests.
func parts(requests ...string) string {
	var b strings.Builder
	for i, r := range requests {
		fmt.Fprintf(&b, "--edge\r\nContent-Type: application/http\r\nContent-ID: %d\r\n\r\n%s\r\n", i, r)
	}
	return b.String() + "--edge--\r\n"
}
