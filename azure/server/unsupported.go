package server

import "github.com/leasehold/leasehold/azure/azerr"

// unsupported are Azure's operations that this server answers with
// NotImplemented.
var unsupported = map[route]string{
	{atService, "service", "userdelegationkey"}: "Get User Delegation Key",
	{atContainer, "container", "undelete"}:      "Restore Container",
	{atContainer, "container", "rename"}:        "Rename Container",
	{atBlob, "", "undelete"}:                    "Undelete Blob",
	{atBlob, "", "query"}:                       "Query Blob Contents",
	{atBlob, "", "incrementalcopy"}:             "Incremental Copy Blob",
	{atBlob, "", "immutabilitypolicies"}:        "Set Blob Immutability Policy",
	{atBlob, "", "legalhold"}:                   "Set Blob Legal Hold",
}

// unsupportedHeaders ask for what this server cannot give. Ignoring them would
// pretend that a blob is encrypted or protected.
var unsupportedHeaders = []struct{ name, feature string }{
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

// checkSupported refuses what would be ignored otherwise.
func (c *call) checkSupported() error {
	for _, u := range unsupportedHeaders {
		if first(c.r.Header, u.name) != "" {
			return azerr.New(azerr.NotImplemented).With("This server does not offer %s, which the header %s asks for.", u.feature, u.name)
		}
	}
	if c.query.Has("versionid") {
		return azerr.New(azerr.NotImplemented).With(noVersions)
	}
	return nil
}
