// Package mcp offers leases to coding agents and other language models as tools of
// the Model Context Protocol: over standard input and output (Server.ServeStream),
// and over HTTP (Server.Handler).
//
// # Who the holder is
//
// The model never says who it is: no tool has such an argument. Over a stream the
// program that starts the server says so, over HTTP the caller's token, or the
// configuration of the client by a header; see Identity and identity.go.
//
// # What the tools promise
//
//   - A refusal because of another lease is a result, not an error: who holds it, what
//     for, until when, where the two overlap, and the next call to make.
//   - A wait ends after Options.MaxWait and keeps its place: each acquire has a lease id,
//     the model's or one of ours, and the answer names it.
//   - A wait that could never end is refused at once, with the cycle and the way out.
//   - What cannot be read exactly is refused by name, and then nothing happened.
//   - A lease id stands only in the answer to its owner, and in no log.
//
// # Files
//
//	server.go    options, lifetime, the tools' registration
//	tools.go     names, descriptions, annotations; schema.go their schemas
//	http.go      the handler; stream.go one client over a stream
//	identity.go  who the holder is; authorize.go what it may do
//	call.go      one call of a tool, and its calls of the store
//	acquire.go   lease_acquire; wait.go its wait; lease.go renew, release, break
//	read.go      status and history
//	result.go    what all tools answer; refusal.go, advice.go how they refuse
//	held.go      what a stream's client holds
package mcp
