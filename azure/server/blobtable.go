package server

import "github.com/leasehold/leasehold/azure/sign"

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
