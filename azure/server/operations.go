package server

import "github.com/leasehold/leasehold/azure/sign"

// What operations need of a shared access signature.
var (
	toRead   = sign.Need{Permissions: "r"}
	toWrite  = sign.Need{Permissions: "w"}
	toCreate = sign.Need{Permissions: "cw"} // c alone must not overwrite: see Overwrites
	toAppend = sign.Need{Permissions: "aw"}
	toDelete = sign.Need{Permissions: "d"}
	toBreak  = sign.Need{Permissions: "wd"} // a lease: deleting what it protects would end it too
	toTag    = sign.Need{Permissions: "t"}
	toFind   = sign.Need{Permissions: "f"}
	toList   = sign.Need{Permissions: "l"}

	anyPermission = sign.Need{Permissions: "racwdxyltmeopfi"}
	byKeyOnly     = sign.Need{} // no signature but the key's is enough
)

// ofAccount needs a signature for the whole account; one for a container is not
// enough.
func ofAccount(permissions string) sign.Need {
	return sign.Need{Permissions: permissions, AccountOnly: true}
}

// operations is the whole protocol. Among those of one address and verb the
// first whose Header fits runs.
var operations = []operation{
	// The service.
	{Name: "List Containers", Level: atService, Method: "GET", Comp: "list",
		Need: ofAccount("l"), Handle: (*Server).listContainers},
	{Name: "Get Blob Service Properties", Level: atService, Method: "GET", Restype: "service", Comp: "properties",
		Need: ofAccount("r"), Handle: (*Server).getServiceProperties},
	{Name: "Set Blob Service Properties", Level: atService, Method: "PUT", Restype: "service", Comp: "properties", Write: true,
		Need: ofAccount("w"), Handle: (*Server).setServiceProperties},
	{Name: "Get Blob Service Stats", Level: atService, Method: "GET", Restype: "service", Comp: "stats",
		Need: ofAccount("r"), Handle: (*Server).getServiceStats},
	{Name: "Get Account Information", Level: atService, Method: "GET HEAD", Restype: "account", Comp: "properties",
		Need: anyPermission, Handle: (*Server).getAccountInfo},
	{Name: "Find Blobs by Tags", Level: atService, Method: "GET", Comp: "blobs",
		Need: ofAccount("f"), Handle: (*Server).findBlobs},
	{Name: "Blob Batch", Level: atService, Method: "POST", Comp: "batch", Write: true,
		Need: ofAccount("wd"), Handle: (*Server).batch},
	// The JavaScript SDK takes the account in the path for a container.
	{Name: "Blob Batch", Level: atService, Method: "POST", Restype: "container", Comp: "batch", Write: true,
		Need: ofAccount("wd"), Handle: (*Server).batch},
	{Name: "Reset Account", Level: atService, Method: "DELETE", Restype: "service", Comp: "reset", Write: true, Operate: true,
		Need: byKeyOnly, Handle: (*Server).resetAccount}, // ours, not Azure's

	// Containers.
	{Name: "Create Container", Level: atContainer, Method: "PUT", Restype: "container", Write: true,
		Need: ofAccount("cw"), Handle: (*Server).createContainer},
	{Name: "Get Container Properties", Level: atContainer, Method: "GET HEAD", Restype: "container", Access: accessFull,
		Need: ofAccount("r"), Public: publicContainer, Handle: (*Server).getContainerProperties},
	{Name: "Delete Container", Level: atContainer, Method: "DELETE", Restype: "container", Write: true, Access: accessFull,
		Need: ofAccount("d"), Handle: (*Server).deleteContainer},
	{Name: "Get Container Metadata", Level: atContainer, Method: "GET HEAD", Restype: "container", Comp: "metadata", Access: accessFull,
		Need: ofAccount("r"), Public: publicContainer, Handle: (*Server).getContainerMetadata},
	{Name: "Set Container Metadata", Level: atContainer, Method: "PUT", Restype: "container", Comp: "metadata", Write: true, Access: accessFull,
		Need: ofAccount("w"), Handle: (*Server).setContainerMetadata},
	{Name: "Get Container ACL", Level: atContainer, Method: "GET HEAD", Restype: "container", Comp: "acl", Access: accessFull,
		Need: byKeyOnly, Handle: (*Server).getContainerACL},
	{Name: "Set Container ACL", Level: atContainer, Method: "PUT", Restype: "container", Comp: "acl", Write: true, Access: accessFull,
		Need: byKeyOnly, Handle: (*Server).setContainerACL},
	{Name: "List Blobs", Level: atContainer, Method: "GET", Restype: "container", Comp: "list",
		Need: toList, Public: publicContainer, Handle: (*Server).listBlobs},
	{Name: "Find Blobs by Tags in Container", Level: atContainer, Method: "GET", Restype: "container", Comp: "blobs",
		Need: toFind, Handle: (*Server).findBlobs},
	{Name: "Blob Batch of Container", Level: atContainer, Method: "POST", Restype: "container", Comp: "batch", Write: true,
		Need: sign.Need{Permissions: "wd"}, Handle: (*Server).batch},
	{Name: "Get Account Information", Level: atContainer, Method: "GET HEAD", Restype: "account", Comp: "properties",
		Need: anyPermission, Handle: (*Server).getAccountInfo},

	// Leases.
	leaseContainer("acquire", ofAccount("w")),
	leaseContainer("renew", ofAccount("w")),
	leaseContainer("change", ofAccount("w")),
	leaseContainer("release", ofAccount("w")),
	leaseContainer("break", toBreak),
	leaseBlob("acquire", toWrite),
	leaseBlob("renew", toWrite),
	leaseBlob("change", toWrite),
	leaseBlob("release", toWrite),
	leaseBlob("break", toBreak),

	// Blobs.
	{Name: "Put Block Blob", Level: atBlob, Method: "PUT", Header: "x-ms-blob-type", Value: "BlockBlob", Write: true, Access: accessFull,
		Overwrites: true, Need: toCreate, Handle: (*Server).putBlockBlob},
	{Name: "Put Append Blob", Level: atBlob, Method: "PUT", Header: "x-ms-blob-type", Value: "AppendBlob", Write: true, Access: accessFull,
		Overwrites: true, Need: toCreate, Handle: (*Server).putAppendBlob},
	{Name: "Put Page Blob", Level: atBlob, Method: "PUT", Header: "x-ms-blob-type", Value: "PageBlob", Write: true, Access: accessFull,
		Overwrites: true, Need: toCreate, Handle: (*Server).putPageBlob},
	{Name: "Copy Blob", Level: atBlob, Method: "PUT", Header: "x-ms-copy-source", Write: true, Access: accessFull,
		Overwrites: true, KeyReadsSource: true, Need: toCreate, Handle: (*Server).copyBlob},
	{Name: "Abort Copy Blob", Level: atBlob, Method: "PUT", Comp: "copy", Header: "x-ms-copy-action", Value: "abort", Write: true, Access: accessFull,
		Need: toWrite, Handle: (*Server).abortCopy},
	{Name: "Get Blob", Level: atBlob, Method: "GET", Snapshot: true, Access: accessFull,
		Need: toRead, Public: publicBlob, Handle: (*Server).getBlob},
	{Name: "Get Blob Properties", Level: atBlob, Method: "HEAD", Snapshot: true, Access: accessFull,
		Need: toRead, Public: publicBlob, Handle: (*Server).getBlobProperties},
	{Name: "Delete Blob", Level: atBlob, Method: "DELETE", Snapshot: true, Write: true, Batch: true, Access: accessFull,
		Need: toDelete, Handle: (*Server).deleteBlob},
	{Name: "Snapshot Blob", Level: atBlob, Method: "PUT", Comp: "snapshot", Write: true, Access: accessFull,
		Need: toCreate, Handle: (*Server).snapshotBlob},
	{Name: "Get Lineage", Level: atBlob, Method: "GET", Comp: "lineage",
		Need: toRead, Handle: (*Server).getLineage}, // ours, not Azure's
	{Name: "Get Account Information", Level: atBlob, Method: "GET HEAD", Restype: "account", Comp: "properties",
		Need: anyPermission, Handle: (*Server).getAccountInfo},

	// Properties of blobs.
	{Name: "Set Blob Properties", Level: atBlob, Method: "PUT", Comp: "properties", Write: true, Access: accessFull,
		Need: toWrite, Handle: (*Server).setBlobProperties},
	{Name: "Get Blob Metadata", Level: atBlob, Method: "GET HEAD", Comp: "metadata", Snapshot: true, Access: accessFull,
		Need: toRead, Public: publicBlob, Handle: (*Server).getBlobMetadata},
	{Name: "Set Blob Metadata", Level: atBlob, Method: "PUT", Comp: "metadata", Write: true, Access: accessFull,
		Need: toWrite, Handle: (*Server).setBlobMetadata},
	{Name: "Get Blob Tags", Level: atBlob, Method: "GET", Comp: "tags", Snapshot: true, Access: accessTags,
		Need: toTag, Handle: (*Server).getBlobTags},
	{Name: "Set Blob Tags", Level: atBlob, Method: "PUT", Comp: "tags", Write: true, Access: accessTags,
		Need: toTag, Handle: (*Server).setBlobTags},
	{Name: "Set Blob Tier", Level: atBlob, Method: "PUT", Comp: "tier", Snapshot: true, Write: true, Batch: true, Access: accessFull,
		Need: toWrite, Handle: (*Server).setBlobTier},
	{Name: "Set Blob Expiry", Level: atBlob, Method: "PUT", Comp: "expiry", Snapshot: true, Write: true, Access: accessFull,
		Need: toWrite, Handle: (*Server).setBlobExpiry},

	// Blocks, appended blocks and pages.
	{Name: "Put Block From URL", Level: atBlob, Method: "PUT", Comp: "block", Header: "x-ms-copy-source", Write: true, Access: accessLease,
		Overwrites: true, Need: toCreate, Handle: (*Server).putBlock},
	{Name: "Put Block", Level: atBlob, Method: "PUT", Comp: "block", Write: true, Access: accessLease,
		Overwrites: true, Need: toCreate, Handle: (*Server).putBlock},
	{Name: "Put Block List", Level: atBlob, Method: "PUT", Comp: "blocklist", Write: true, Access: accessFull,
		Overwrites: true, Need: toCreate, Handle: (*Server).putBlockList},
	{Name: "Get Block List", Level: atBlob, Method: "GET", Comp: "blocklist", Snapshot: true, Access: accessFull,
		Need: toRead, Public: publicBlob, Handle: (*Server).getBlockList},
	{Name: "Append Block From URL", Level: atBlob, Method: "PUT", Comp: "appendblock", Header: "x-ms-copy-source", Write: true, Access: accessFull,
		Need: toAppend, Handle: (*Server).appendBlock},
	{Name: "Append Block", Level: atBlob, Method: "PUT", Comp: "appendblock", Write: true, Access: accessFull,
		Need: toAppend, Handle: (*Server).appendBlock},
	{Name: "Append Blob Seal", Level: atBlob, Method: "PUT", Comp: "seal", Write: true, Access: accessFull,
		Need: toWrite, Handle: (*Server).sealBlob},
	{Name: "Put Page From URL", Level: atBlob, Method: "PUT", Comp: "page", Header: "x-ms-copy-source", Write: true, Access: accessFull,
		Need: toWrite, Handle: (*Server).putPages},
	{Name: "Put Page", Level: atBlob, Method: "PUT", Comp: "page", Header: "x-ms-page-write", Value: "update", Write: true, Access: accessFull,
		Need: toWrite, Handle: (*Server).putPages},
	{Name: "Clear Page", Level: atBlob, Method: "PUT", Comp: "page", Header: "x-ms-page-write", Value: "clear", Write: true, Access: accessFull,
		Need: toWrite, Handle: (*Server).putPages},
	{Name: "Get Page Ranges", Level: atBlob, Method: "GET", Comp: "pagelist", Snapshot: true, Access: accessFull,
		Need: toRead, Public: publicBlob, Handle: (*Server).getPageRanges},
}

func leaseContainer(action string, need sign.Need) operation {
	return operation{Name: "Lease Container: " + action, Level: atContainer, Method: "PUT", Restype: "container", Comp: "lease",
		Header: "x-ms-lease-action", Value: action, Write: true, Access: accessConditions, Need: need, Handle: (*Server).lease}
}

func leaseBlob(action string, need sign.Need) operation {
	return operation{Name: "Lease Blob: " + action, Level: atBlob, Method: "PUT", Comp: "lease",
		Header: "x-ms-lease-action", Value: action, Write: true, Access: accessConditions, Need: need, Handle: (*Server).lease}
}
