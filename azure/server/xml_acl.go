package server

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
)

const (
	maxPolicies = 5
	maxPolicyID = 64 // characters
)

// identifiers are stored access policies as XML.
type identifiers struct {
	XMLName struct{}     `xml:"SignedIdentifiers"`
	List    []identifier `xml:"SignedIdentifier"`
}

type identifier struct {
	ID     string `xml:"Id"`
	Policy struct {
		Start       string `xml:"Start,omitempty"`
		Expiry      string `xml:"Expiry,omitempty"`
		Permissions string `xml:"Permission,omitempty"`
	} `xml:"AccessPolicy"`
}

// parsePolicies reads the policies from a body; an empty one has none.
func parsePolicies(body []byte) ([]catalog.Policy, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, nil
	}
	var list identifiers
	if err := parseXML(body, &list); err != nil {
		return nil, err
	}
	if len(list.List) > maxPolicies {
		return nil, azerr.New(azerr.InvalidXmlDocument).With("A container has at most %d stored access policies.", maxPolicies)
	}
	var policies []catalog.Policy
	seen := map[string]bool{}
	for _, i := range list.List {
		p := catalog.Policy{ID: i.ID, Start: i.Policy.Start, Expiry: i.Policy.Expiry, Permissions: i.Policy.Permissions}
		if err := validatePolicy(p); err != nil {
			return nil, err
		}
		if seen[p.ID] {
			return nil, azerr.New(azerr.InvalidXmlDocument).With("The stored access policy %q is there twice.", p.ID)
		}
		seen[p.ID] = true
		policies = append(policies, p)
	}
	return policies, nil
}

// validatePolicy refuses what no signature could be verified against.
func validatePolicy(p catalog.Policy) error {
	bad := func(why string) error {
		return azerr.New(azerr.InvalidXmlNodeValue).With("A stored access policy is not valid: %s.", why)
	}
	_, start := sign.ParseTime(p.Start)
	_, expiry := sign.ParseTime(p.Expiry)
	switch {
	case p.ID == "" || utf8.RuneCountInString(p.ID) > maxPolicyID:
		return azerr.New(azerr.InvalidXmlDocument).With("The Id of a stored access policy must have 1 to %d characters.", maxPolicyID)
	case start != nil || expiry != nil:
		return bad("Start and Expiry must be times, as in 2006-01-02T15:04:05Z")
	case strings.Trim(p.Permissions, "racwdxyltmeopfi") != "":
		return bad("Permission has letters that mean nothing")
	}
	return nil
}
