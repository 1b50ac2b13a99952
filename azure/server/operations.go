package server

import (
	"slices"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
)

// Needs of a shared access signature that several operations share.
var (
	toRead   = sign.Need{Permissions: "r"}
	toWrite  = sign.Need{Permissions: "w"}
	toCreate = sign.Need{Permissions: "cw"} // c alone must not overwrite: see createOnly
	toAppend = sign.Need{Permissions: "aw"}
	toDelete = sign.Need{Permissions: "d"}
	toTag    = sign.Need{Permissions: "t"}
)

// blobOperations are those on blobs, except for their leases.
var blobOperations = []operation{
	{Name: "Put Block Blob", Level: atBlob, Method: "PUT", Header: "x-ms-blob-type", Value: "BlockBlob", Write: true,
		Need: toCreate, Handle: (*Server).putBlock},
	{Name: "Put Append Blob", Level: atBlob, Method: "PUT", Header: "x-ms-blob-type", Value: "AppendBlob", Write: true,
		Need: toCreate, Handle: (*Server).putAppend},
	{Name: "Put Page Blob", Level: atBlob, Method: "PUT", Header: "x-ms-blob-type", Value: "PageBlob", Write: true,
		Need: toCreate, Handle: (*Server).putPage},
	{Name: "Copy Blob", Level: atBlob, Method: "PUT", Header: "x-ms-copy-source", Write: true, KeyOpensSource: true,
		Need: toCreate, Handle: (*Server).copyBlob},
	{Name: "Abort Copy Blob", Level: atBlob, Method: "PUT", Comp: "copy", Header: "x-ms-copy-action", Value: "abort", Write: true,
		Need: toWrite, Handle: (*Server).abortCopy},

	{Name: "Get Blob", Level: atBlob, Method: "GET", Snapshot: true, Need: toRead, Public: publicBlob, Handle: (*Server).getBlob},
	{Name: "Get Blob Properties", Level: atBlob, Method: "HEAD", Snapshot: true, Need: toRead, Public: publicBlob, Handle: (*Server).headBlob},
	{Name: "Delete Blob", Level: atBlob, Method: "DELETE", Snapshot: true, Write: true, Batch: true, Need: toDelete, Handle: (*Server).deleteBlob},
	{Name: "Snapshot Blob", Level: atBlob, Method: "PUT", Comp: "snapshot", Write: true, Need: toCreate, Handle: (*Server).snapshotBlob},

	{Name: "Get Lineage", Level: atBlob, Method: "GET", Comp: "lineage", Need: toRead, Handle: (*Server).lineage}, // ours, not Azure's

	{Name: "Put Block From URL", Level: atBlob, Method: "PUT", Comp: "block", Header: "x-ms-copy-source", Write: true,
		Need: toCreate, Handle: (*Server).stageFromURL},
	{Name: "Put Block", Level: atBlob, Method: "PUT", Comp: "block", Write: true, Need: toCreate, Handle: (*Server).stageBlock},
	{Name: "Put Block List", Level: atBlob, Method: "PUT", Comp: "blocklist", Write: true, Need: toCreate, Handle: (*Server).commitBlocks},
	{Name: "Get Block List", Level: atBlob, Method: "GET", Comp: "blocklist", Snapshot: true,
		Need: toRead, Public: publicBlob, Handle: (*Server).listBlocks},

	{Name: "Set Blob Properties", Level: atBlob, Method: "PUT", Comp: "properties", Write: true, Need: toWrite, Handle: (*Server).setProperties},
	{Name: "Get Blob Metadata", Level: atBlob, Method: "GET HEAD", Comp: "metadata", Snapshot: true,
		Need: toRead, Public: publicBlob, Handle: (*Server).blobMetadata},
	{Name: "Set Blob Metadata", Level: atBlob, Method: "PUT", Comp: "metadata", Write: true, Need: toWrite, Handle: (*Server).setBlobMetadata},
	{Name: "Get Blob Tags", Level: atBlob, Method: "GET", Comp: "tags", Snapshot: true, Need: toTag, Handle: (*Server).blobTags},
	{Name: "Set Blob Tags", Level: atBlob, Method: "PUT", Comp: "tags", Write: true, Need: toTag, Handle: (*Server).setBlobTags},
	{Name: "Set Blob Tier", Level: atBlob, Method: "PUT", Comp: "tier", Snapshot: true, Write: true, Batch: true, Need: toWrite, Handle: (*Server).setTier},
	{Name: "Set Blob Expiry", Level: atBlob, Method: "PUT", Comp: "expiry", Snapshot: true, Write: true, Need: toWrite, Handle: (*Server).setExpiry},

	{Name: "Append Block From URL", Level: atBlob, Method: "PUT", Comp: "appendblock", Header: "x-ms-copy-source", Write: true,
		Need: toAppend, Handle: (*Server).appendFromURL},
	{Name: "Append Block", Level: atBlob, Method: "PUT", Comp: "appendblock", Write: true, Need: toAppend, Handle: (*Server).appendBlock},
	{Name: "Append Blob Seal", Level: atBlob, Method: "PUT", Comp: "seal", Write: true, Need: toWrite, Handle: (*Server).seal},

	{Name: "Put Page From URL", Level: atBlob, Method: "PUT", Comp: "page", Header: "x-ms-copy-source", Write: true,
		Need: toWrite, Handle: (*Server).putPagesFromURL},
	{Name: "Put Page", Level: atBlob, Method: "PUT", Comp: "page", Header: "x-ms-page-write", Value: "update", Write: true,
		Need: toWrite, Handle: (*Server).putPages},
	{Name: "Clear Page", Level: atBlob, Method: "PUT", Comp: "page", Header: "x-ms-page-write", Value: "clear", Write: true,
		Need: toWrite, Handle: (*Server).clearPages},
	{Name: "Get Page Ranges", Level: atBlob, Method: "GET", Comp: "pagelist", Snapshot: true,
		Need: toRead, Public: publicBlob, Handle: (*Server).listPages},
}

// operations is the whole protocol.
func operations() []operation {
	return slices.Concat(serviceOperations, containerOperations, leaseOperations, blobOperations, resetOperations)
}

// leaseOperations are those on leases of blobs and of containers, which are
// alike. Breaking a lease is allowed to whoever may delete what it protects.
var leaseOperations = func() []operation {
	var all []operation
	for _, action := range []catalog.Action{catalog.Acquire, catalog.Renew, catalog.Change, catalog.Release, catalog.Break} {
		o := operation{
			Method: "PUT", Comp: "lease", Header: "x-ms-lease-action", Value: string(action),
			Write: true, Need: sign.Need{Permissions: "w"}, Handle: (*Server).lease,
		}
		blob, container := o, o
		blob.Level, blob.Name = atBlob, "Lease Blob: "+o.Value
		container.Level, container.Restype, container.Name = atContainer, "container", "Lease Container: "+o.Value
		container.Need.AccountOnly = true
		if action == catalog.Break {
			blob.Need = sign.Need{Permissions: "wd"}
			container.Need = sign.Need{Permissions: "wd"}
		}
		all = append(all, blob, container)
	}
	return all
}()

// byKeyOnly is the need of what no shared access signature allows.
var byKeyOnly = sign.Need{}

// ofAccount is the need of what a shared access signature of the whole account
// allows, and none of a container does.
func ofAccount(permissions string) sign.Need {
	return sign.Need{Permissions: permissions, AccountOnly: true}
}

var containerOperations = []operation{
	{Name: "Create Container", Level: atContainer, Method: "PUT", Restype: "container", Write: true,
		Need: ofAccount("cw"), Handle: (*Server).createContainer},
	{Name: "Get Container Properties", Level: atContainer, Method: "GET HEAD", Restype: "container",
		Need: ofAccount("r"), Public: publicContainer, Handle: (*Server).containerProperties},
	{Name: "Delete Container", Level: atContainer, Method: "DELETE", Restype: "container", Write: true,
		Need: ofAccount("d"), Handle: (*Server).deleteContainer},
	{Name: "Get Container Metadata", Level: atContainer, Method: "GET HEAD", Restype: "container", Comp: "metadata",
		Need: ofAccount("r"), Public: publicContainer, Handle: (*Server).containerMetadata},
	{Name: "Set Container Metadata", Level: atContainer, Method: "PUT", Restype: "container", Comp: "metadata", Write: true,
		Need: ofAccount("w"), Handle: (*Server).setContainerMetadata},
	{Name: "Get Container ACL", Level: atContainer, Method: "GET HEAD", Restype: "container", Comp: "acl",
		Need: byKeyOnly, Handle: (*Server).containerACL},
	{Name: "Set Container ACL", Level: atContainer, Method: "PUT", Restype: "container", Comp: "acl", Write: true,
		Need: byKeyOnly, Handle: (*Server).setContainerACL},
	{Name: "List Blobs", Level: atContainer, Method: "GET", Restype: "container", Comp: "list",
		Need: sign.Need{Permissions: "l"}, Public: publicContainer, Handle: (*Server).listBlobs},
	{Name: "Find Blobs by Tags in Container", Level: atContainer, Method: "GET", Restype: "container", Comp: "blobs",
		Need: sign.Need{Permissions: "f"}, Handle: (*Server).findBlobs},
	{Name: "Blob Batch of Container", Level: atContainer, Method: "POST", Restype: "container", Comp: "batch", Write: true,
		Need: sign.Need{Permissions: "wd"}, Handle: (*Server).batch},
	{Name: "Get Account Information", Level: atContainer, Method: "GET HEAD", Restype: "account", Comp: "properties",
		Need: anyPermission, Handle: (*Server).accountInfo},
}

// anyPermission is the need of what every shared access signature allows.
var anyPermission = sign.Need{Permissions: "racwdxyltmeopfi"}

var serviceOperations = []operation{
	{Name: "List Containers", Level: atService, Method: "GET", Comp: "list",
		Need: ofAccount("l"), Handle: (*Server).listContainers},
	{Name: "Get Blob Service Properties", Level: atService, Method: "GET", Restype: "service", Comp: "properties",
		Need: ofAccount("r"), Handle: (*Server).serviceProperties},
	{Name: "Set Blob Service Properties", Level: atService, Method: "PUT", Restype: "service", Comp: "properties", Write: true,
		Need: ofAccount("w"), Handle: (*Server).setServiceProperties},
	{Name: "Get Blob Service Stats", Level: atService, Method: "GET", Restype: "service", Comp: "stats",
		Need: ofAccount("r"), Handle: (*Server).serviceStats},
	{Name: "Get Account Information", Level: atService, Method: "GET HEAD", Restype: "account", Comp: "properties",
		Need: anyPermission, Handle: (*Server).accountInfo},
	{Name: "Get Account Information", Level: atBlob, Method: "GET HEAD", Restype: "account", Comp: "properties",
		Need: anyPermission, Handle: (*Server).accountInfo},
	{Name: "Find Blobs by Tags", Level: atService, Method: "GET", Comp: "blobs",
		Need: ofAccount("f"), Handle: (*Server).findBlobs},
	{Name: "Blob Batch", Level: atService, Method: "POST", Comp: "batch", Write: true,
		Need: ofAccount("wd"), Handle: (*Server).batch},
	// The JavaScript SDK takes the account in the path for a container.
	{Name: "Blob Batch", Level: atService, Method: "POST", Restype: "container", Comp: "batch", Write: true,
		Need: ofAccount("wd"), Handle: (*Server).batch},
}

// resetOperations are ours, not Azure's.
var resetOperations = []operation{
	{Name: "Reset Account", Level: atService, Method: "DELETE", Restype: "service", Comp: "reset", Write: true, Operate: true,
		Need: byKeyOnly, Handle: (*Server).reset},
}
