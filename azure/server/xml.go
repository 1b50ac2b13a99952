package server

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
)

const (
	xmlType  = "application/xml"
	xmlHead  = `<?xml version="1.0" encoding="utf-8"?>`
	maxXML   = 4 << 20 // bytes of a body
	maxDepth = 16      // of elements
)

// answerXML sends a document.
func (c *call) answerXML(status int, document any) error {
	data, err := marshalXML(document)
	if err != nil {
		return err
	}
	return c.answerBytes(status, xmlType, data)
}

// marshalXML writes a document of elements, without attributes.
func marshalXML(document any) ([]byte, error) {
	data, err := xml.Marshal(document)
	if err != nil {
		return nil, err
	}
	return []byte(xmlHead + unnumbered.Replace(string(data))), nil
}

// unnumbered undoes the numbers that encoding/xml escapes with and need not: some
// clients do not know them.
var unnumbered = strings.NewReplacer("&#39;", "'", "&#34;", `"`, "&#xA;", "\n", "&#x9;", "\t")

// readXML reads the body into a document, after comparing it with the checksum
// that was sent: a damaged list of blocks makes another blob. It returns the body.
func (c *call) readXML(document any, limit int64) ([]byte, error) {
	k, err := c.checksums()
	if err != nil {
		return nil, err
	}
	body, err := c.readAll(limit)
	if err != nil {
		return nil, err
	}
	if err := k.matchBytes(body); err != nil {
		return nil, err
	}
	return body, parseXML(body, document)
}

// readAll reads a small body into memory.
func (c *call) readAll(limit int64) ([]byte, error) {
	if c.r.ContentLength > limit {
		return nil, azerr.New(azerr.RequestBodyTooLarge)
	}
	data, err := io.ReadAll(io.LimitReader(c.body(), limit+1))
	switch {
	case err != nil:
		return nil, azerr.New(azerr.InvalidInput).With("The body ended before its time.")
	case int64(len(data)) > limit:
		return nil, azerr.New(azerr.RequestBodyTooLarge)
	}
	return data, nil
}

// parseXML decodes a document. It refuses document types (and so entities) and deep
// nesting.
func parseXML(data []byte, document any) error {
	if err := validateXML(data); err != nil {
		return azerr.New(azerr.InvalidXmlDocument).With("The body cannot be read as XML: %s.", err.Error())
	}
	if err := newDecoder(data).Decode(document); err != nil {
		var e *azerr.Error
		if errors.As(err, &e) {
			return e
		}
		return azerr.New(azerr.InvalidXmlDocument).With("The body is not the document that is expected here: %s.", err.Error())
	}
	return nil
}

func newDecoder(data []byte) *xml.Decoder {
	d := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	d.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errors.New("it is not in UTF-8") }
	return d
}

// validateXML reads the whole document before any of it is used.
func validateXML(data []byte) error {
	d := newDecoder(data)
	depth, roots := 0, 0
	for {
		token, err := d.RawToken()
		switch {
		case errors.Is(err, io.EOF) && depth == 0 && roots == 1:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("it is not one complete document")
		case err != nil:
			return err
		}
		switch token.(type) {
		case xml.Directive:
			return errors.New("it has a document type")
		case xml.StartElement:
			if depth == 0 {
				roots++
			}
			depth++
		case xml.EndElement:
			depth--
		}
		if depth > maxDepth || depth < 0 || roots > 1 {
			return errors.New("its elements are nested too deep, or not in one another")
		}
	}
}
