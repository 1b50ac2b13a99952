package server

import "github.com/leasehold/leasehold/azure/azerr"

// unbuilt are the operations that Azure has and this door has not. They are
// answered with NotImplemented.
var unbuilt = map[place]string{
	{atService, "service", "userdelegationkey"}: "Get User Delegation Key",
	{atContainer, "container", "undelete"}:      "Restore Container",
	{atContainer, "container", "rename"}:        "Rename Container",
	{atBlob, "", "undelete"}:                    "Undelete Blob",
	{atBlob, "", "query"}:                       "Query Blob Contents",
	{atBlob, "", "incrementalcopy"}:             "Incremental Copy Blob",
	{atBlob, "", "immutabilitypolicies"}:        "Set Blob Immutability Policy",
	{atBlob, "", "legalhold"}:                   "Set Blob Legal Hold",
}

// unbuiltHeaders ask for what this door cannot give. Ignoring them would
// pretend that a blob is encrypted or protected.
var unbuiltHeaders = []struct{ name, feature string }{
	{"X-Ms-Encryption-Key", "customer-provided keys"},
	{"X-Ms-Encryption-Scope", "encryption scopes"},
	{"X-Ms-Default-Encryption-Scope", "encryption scopes"},
	{"X-Ms-Source-Encryption-Key", "customer-provided keys"},
	{"X-Ms-Immutability-Policy-Until-Date", "immutability policies"},
	{"X-Ms-Legal-Hold", "legal holds"},
	{"X-Ms-Structured-Body", "structured bodies"},
	{"X-Ms-Previous-Snapshot-Url", "comparing with a snapshot by its URL (send prevsnapshot)"},

	{"X-Ms-Access-Tier-If-Modified-Since", "conditions on the time of a tier"},
	{"X-Ms-Access-Tier-If-Unmodified-Since", "conditions on the time of a tier"},
}

const noVersions = "This server does not keep versions of blobs (versionid). It has snapshots."

// checkOffered refuses what would be ignored otherwise.
func (c *call) checkOffered() error {
	for _, u := range unbuiltHeaders {
		if first(c.r.Header, u.name) != "" {
			return azerr.New(azerr.NotImplemented).With("This server does not offer %s, which the header %s asks for.", u.feature, u.name)
		}
	}
	if c.query.Has("versionid") {
		return azerr.New(azerr.NotImplemented).With(noVersions)
	}
	return nil
}
