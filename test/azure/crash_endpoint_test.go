//go:build unix

package azuretest

import (
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

// endpoint is one of the two APIs that serve the same blobs, and the codes with
// which it refuses.
type endpoint struct {
	client *service.Client
	codes  codes
}

// codes are the error codes of leases in which the endpoints differ.
type codes struct {
	otherID   bloberror.Code // renew a held lease by another id
	ended     bloberror.Code // renew where there is no lease
	broken    bloberror.Code // renew a broken lease by its own id
	nothing   bloberror.Code // break where there is no lease
	blob      accessCodes
	container accessCodes
}

// accessCodes are the error codes of requests that show a lease id and are no
// lease operation.
type accessCodes struct {
	otherID bloberror.Code // the id of another lease
	ended   bloberror.Code // where there is no lease
}

// The codes that Azure and its SDK do not have.
const (
	leaseNotFound   bloberror.Code = "LeaseNotFound"
	leaseIDMismatch bloberror.Code = "LeaseIdMismatch"
)

// azureCodes are those of the Azure Blob API.
var azureCodes = codes{
	otherID:   bloberror.LeaseIDMismatchWithLeaseOperation,
	ended:     bloberror.LeaseIDMismatchWithLeaseOperation,
	broken:    bloberror.LeaseIsBrokenAndCannotBeRenewed,
	nothing:   bloberror.LeaseNotPresentWithLeaseOperation,
	blob:      accessCodes{bloberror.LeaseIDMismatchWithBlobOperation, bloberror.LeaseNotPresentWithBlobOperation},
	container: accessCodes{bloberror.LeaseIDMismatchWithContainerOperation, bloberror.LeaseNotPresentWithContainerOperation},
}

// plainCodes are those of the plain API: one code for no lease, however it ended,
// and one for another id.
var plainCodes = codes{
	otherID:   leaseIDMismatch,
	ended:     leaseNotFound,
	broken:    leaseNotFound,
	nothing:   leaseNotFound,
	blob:      accessCodes{leaseIDMismatch, leaseIDMismatch},
	container: accessCodes{leaseIDMismatch, leaseIDMismatch},
}
