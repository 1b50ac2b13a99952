// Package azuretest tests the Azure Blob API from outside: the program as go
// build makes it, in a process of its own, over TCP, mostly with Azure's SDK. It
// shows what needs a process: crashes, memory, a full disk. Package azureapi tests
// what each request is answered.
//
// # The crash test
//
// TestCrash kills a server under load, again and again on the same data, and
// checks after each start that the server has what it acknowledged.
//
//   - A driver (crash_driver_test.go) sends one operation after the other to its
//     targets: block, append, page or tagged blobs, or containers. For each
//     target it knows the state that was acknowledged, and for the operation
//     under way the state that it would lead to.
//   - An operation is a plan: from the known state it computes the next state,
//     and the call that should lead there. A kind lists its operations, how its
//     targets are described, and how they are read from the server.
//   - After a crash each target must be in the acknowledged state or, if an
//     operation on it was under way, in the state after that. Leases are
//     tried as well: the known id renews, every other id is refused.
//   - A contention (crash_contention_test.go) has several clients acquire one
//     lease. No two may hold it at a time, and an acknowledged one survives.
//
// Drivers run at both endpoints: the Azure Blob API, and the plain API under /blob/
// on the JSON API's port. At the end fsck must find nothing wrong, and no file may
// be left when all blobs are deleted. In the long form (LEASEHOLD_SOAK=1) every
// operation must have been acknowledged at both endpoints.
package azuretest
