package server

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold/azure/azerr"
)

const (
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
	return c.answerDocument(status, data)
}

// marshalXML writes a document of elements, without attributes.
func marshalXML(document any) ([]byte, error) {
	data, err := xml.Marshal(document)
	if err != nil {
		return nil, err
	}
	return []byte(xmlHead + unnumbered.Replace(string(data))), nil
}

// unnumbered writes plainly what encoding/xml escapes by number without need:
// some clients know no such numbers.
var unnumbered = strings.NewReplacer("&#39;", "'", "&#34;", `"`, "&#xA;", "\n", "&#x9;", "\t")

// answerDocument sends a document that is XML already.
func (c *call) answerDocument(status int, data []byte) error {
	return c.answerBytes(status, "application/xml", data)
}

// answerBytes sends an answer that is in memory.
func (c *call) answerBytes(status int, contentType string, data []byte) error {
	h := c.header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	c.begin(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(data) // whoever is gone needs no answer
	}
	return nil
}

// readXML reads the body into a document. It takes no more than 4 MiB, no
// document type (and so no entities of anybody's making), and no deep nesting.
func (c *call) readXML(document any) error {
	data, err := c.readAll(maxXML)
	if err != nil {
		return err
	}
	return parseXML(data, document)
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

func parseXML(data []byte, document any) error {
	if err := checkXML(data); err != nil {
		return azerr.New(azerr.InvalidXmlDocument).With("The body cannot be read as XML: %s.", err.Error())
	}
	if err := newDecoder(data).Decode(document); err != nil {
		var f *azerr.Error
		if errors.As(err, &f) {
			return f
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

// checkXML looks through the whole document before any of it is believed.
func checkXML(data []byte) error {
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
