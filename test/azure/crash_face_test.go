//go:build unix

package azuretest

import (
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

// face is one of the two ways to the same data, and how it refuses.
type face struct {
	client *service.Client
	words  words
}

// words are the codes of what a lease does not allow, where the faces differ.
type words struct {
	stranger bloberror.Code // to renew by another id what somebody holds
	ended    bloberror.Code // to renew where there is no lease
	broken   bloberror.Code // to renew what was broken, by its own id
	nothing  bloberror.Code // to break where there is no lease
	atBlob   guardWords
	atBox    guardWords
}

// guardWords are the codes of what is no operation on a lease, but shows an id.
type guardWords struct {
	stranger bloberror.Code // that is not the one of the lease
	ended    bloberror.Code // where there is no lease
}

// The codes that the Azure Blob door does not have, nor its SDK.
const (
	leaseNotFound   bloberror.Code = "LeaseNotFound"
	leaseIDMismatch bloberror.Code = "LeaseIdMismatch"
)

// azureWords are those of the Azure Blob door.
var azureWords = words{
	stranger: bloberror.LeaseIDMismatchWithLeaseOperation,
	ended:    bloberror.LeaseIDMismatchWithLeaseOperation,
	broken:   bloberror.LeaseIsBrokenAndCannotBeRenewed,
	nothing:  bloberror.LeaseNotPresentWithLeaseOperation,
	atBlob:   guardWords{bloberror.LeaseIDMismatchWithBlobOperation, bloberror.LeaseNotPresentWithBlobOperation},
	atBox:    guardWords{bloberror.LeaseIDMismatchWithContainerOperation, bloberror.LeaseNotPresentWithContainerOperation},
}

// dialectWords are those of the main port, under /blob/: there is one code for
// no lease, whatever became of it, and one for another id.
var dialectWords = words{
	stranger: leaseIDMismatch,
	ended:    leaseNotFound,
	broken:   leaseNotFound,
	nothing:  leaseNotFound,
	atBlob:   guardWords{leaseIDMismatch, leaseIDMismatch},
	atBox:    guardWords{leaseIDMismatch, leaseIDMismatch},
}
