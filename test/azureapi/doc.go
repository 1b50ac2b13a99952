// Package azureapi tests what azure/server answers: with Azure's own SDK and with
// requests written byte by byte, on the real catalog and engine, in one process
// and without a network. What only a process can show stands in test/azure; the
// tests of the server's inner parts stand beside its code.
//
// deployment_test.go has the server under test, driver_test.go the SDK's client of
// one container, lease_client_test.go clients that try lease operations. The other
// files are named after what they are about.
package azureapi
