// Package blobtest tries the Azure Blob door from outside: the program that go
// build makes, as a process, over TCP, mostly with Azure's own SDK. It knows
// nothing of the program's packages. What needs a process to show (that it can
// be killed, how much memory it takes, a disk that is full) is shown here; what
// the door answers to which request is shown beside its code.
package azuretest
