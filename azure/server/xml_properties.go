package server

import (
	"encoding/xml"

	"github.com/leasehold/leasehold/azure/azerr"
)

// properties are the service properties of an account, as XML for clients and
// as JSON in the catalog. Nil: never set, or not changed by a request.
type properties struct {
	XMLName        struct{}   `xml:"StorageServiceProperties" json:"-"`
	Logging        *logging   `json:",omitempty"`
	HourMetrics    *metrics   `json:",omitempty"`
	MinuteMetrics  *metrics   `json:",omitempty"`
	CORS           *corsRules `xml:"Cors" json:",omitempty"`
	DefaultVersion string     `xml:"DefaultServiceVersion,omitempty" json:",omitempty"`
	Retention      *retention `xml:"DeleteRetentionPolicy" json:",omitempty"`
	Website        *website   `xml:"StaticWebsite" json:",omitempty"`
}

type logging struct {
	Version             string
	Delete, Read, Write bool
	Retention           retention `xml:"RetentionPolicy"`
}

type metrics struct {
	Version     string
	Enabled     bool
	IncludeAPIs *bool     `xml:",omitempty" json:",omitempty"`
	Retention   retention `xml:"RetentionPolicy"`
}

type retention struct {
	Enabled bool
	Days    int `xml:",omitempty" json:",omitempty"`
}

type website struct {
	Enabled          bool
	IndexDocument    string `xml:",omitempty" json:",omitempty"`
	ErrorDocument404 string `xml:"ErrorDocument404Path,omitempty" json:",omitempty"`
	DefaultIndexPath string `xml:"DefaultIndexDocumentPath,omitempty" json:",omitempty"`
}

// defaultProperties are those of an account that nobody changed.
func defaultProperties() properties {
	none := func() *metrics { return &metrics{Version: "1.0"} }
	return properties{
		Logging: &logging{Version: "1.0"}, HourMetrics: none(), MinuteMetrics: none(),
		CORS: &corsRules{}, Retention: &retention{}, Website: &website{},
	}
}

// merge changes what was sent and keeps the rest.
func (p *properties) merge(sent properties) {
	replace(&p.Logging, sent.Logging)
	replace(&p.HourMetrics, sent.HourMetrics)
	replace(&p.MinuteMetrics, sent.MinuteMetrics)
	replace(&p.CORS, sent.CORS)
	replace(&p.Retention, sent.Retention)
	replace(&p.Website, sent.Website)
	if sent.DefaultVersion != "" {
		p.DefaultVersion = sent.DefaultVersion
	}
}

func replace[T any](kept **T, sent *T) {
	if sent != nil {
		*kept = sent
	}
}

// validate also refuses what this server would not keep.
func (p properties) validate() error {
	for _, r := range p.retentions() {
		if r.Enabled && (r.Days < 1 || r.Days > 365) {
			return azerr.New(azerr.InvalidXmlNodeValue).With("Days of a retention policy must be from 1 to 365.")
		}
	}
	if p.Retention != nil && p.Retention.Enabled {
		return azerr.New(azerr.NotImplemented).With("This server does not keep deleted blobs (DeleteRetentionPolicy).")
	}
	if p.CORS != nil {
		return p.CORS.validate()
	}
	return nil
}

func (p properties) retentions() []retention {
	var all []retention
	if p.Logging != nil {
		all = append(all, p.Logging.Retention)
	}
	for _, m := range []*metrics{p.HourMetrics, p.MinuteMetrics} {
		if m != nil {
			all = append(all, m.Retention)
		}
	}
	return all
}

// UnmarshalXML makes an empty list of rules empty, not nil: it deletes the rules
// that there are.
func (r *corsRules) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	var list struct {
		Rules []corsRule `xml:"CorsRule"`
	}
	err := d.DecodeElement(&list, &start)
	r.Rules = list.Rules
	return err
}
