package server

import "slices"

// operations is the whole protocol.
func operations() []operation {
	return slices.Concat(serviceOperations, containerOperations, leaseOperations, blobOperations, resetOperations)
}
