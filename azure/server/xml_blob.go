package server

import (
	"encoding/xml"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
)

// blockList is the body of Put Block List: block ids in order, each with the list
// to find it in.
type blockList struct{ blocks []catalog.BlockRef }

var blockSources = map[string]catalog.BlockSource{
	"Latest": catalog.Latest, "Committed": catalog.Committed, "Uncommitted": catalog.Uncommitted,
}

// UnmarshalXML keeps the order among elements of different names.
func (l *blockList) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	if start.Name.Local != "BlockList" {
		return azerr.New(azerr.InvalidXmlDocument).With("The body is no BlockList.")
	}
	for {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.EndElement:
			return nil
		case xml.CharData:
			if strings.TrimSpace(string(t)) != "" {
				return azerr.New(azerr.InvalidXmlDocument).With("The block list has text between its elements.")
			}
		case xml.StartElement:
			if err := l.add(d, t); err != nil {
				return err
			}
		}
	}
}

func (l *blockList) add(d *xml.Decoder, t xml.StartElement) error {
	from, known := blockSources[t.Name.Local]
	if !known {
		return azerr.New(azerr.InvalidXmlDocument).With("A block list has no element %.40q.", t.Name.Local)
	}
	id, err := textOf(d)
	if err != nil {
		return err
	}
	if len(l.blocks) == catalog.MaxCommitted {
		return azerr.New(azerr.BlockListTooLong)
	}
	l.blocks = append(l.blocks, catalog.BlockRef{ID: strings.TrimSpace(id), From: from})
	return nil
}

// textOf reads an element that has text only, up to its end.
func textOf(d *xml.Decoder) (string, error) {
	var text strings.Builder
	for {
		token, err := d.Token()
		if err != nil {
			return "", err
		}
		switch t := token.(type) {
		case xml.EndElement:
			return text.String(), nil
		case xml.CharData:
			text.Write(t)
		case xml.StartElement:
			return "", azerr.New(azerr.InvalidXmlDocument).With("The id of a block is text, and has no element %.40q.", t.Name.Local)
		}
	}
}

type blockXML struct {
	Name string
	Size int64
}

type blocksXML struct {
	Blocks []blockXML `xml:"Block"`
}

type blockListsXML struct {
	XMLName     struct{}   `xml:"BlockList"`
	Committed   *blocksXML `xml:"CommittedBlocks"`
	Uncommitted *blocksXML `xml:"UncommittedBlocks"`
}

func xmlBlockLists(kind string, lists catalog.BlockLists) blockListsXML {
	var answer blockListsXML
	if kind != "uncommitted" {
		answer.Committed = xmlBlocks(lists.Committed)
	}
	if kind != "committed" {
		answer.Uncommitted = xmlBlocks(lists.Uncommitted)
	}
	return answer
}

func xmlBlocks(list []catalog.BlockInfo) *blocksXML {
	x := new(blocksXML)
	for _, b := range list {
		x.Blocks = append(x.Blocks, blockXML{b.ID, b.Size})
	}
	return x
}

// pageXML is a range. End is its last byte.
type pageXML struct{ Start, End int64 }

type pagesXML struct {
	XMLName struct{}  `xml:"PageList"`
	Pages   []pageXML `xml:"PageRange"`
	Cleared []pageXML `xml:"ClearRange"`
}

func xmlPages(ranges []catalog.PageRange) pagesXML {
	var x pagesXML
	for _, r := range ranges {
		page := pageXML{r.Start, r.End - 1}
		if r.Clear {
			x.Cleared = append(x.Cleared, page)
		} else {
			x.Pages = append(x.Pages, page)
		}
	}
	return x
}

// tagsXML is the body of Set Blob Tags.
type tagsXML struct {
	XMLName struct{} `xml:"Tags"`
	Set     struct {
		Tags []struct{ Key, Value string } `xml:"Tag"`
	} `xml:"TagSet"`
}
