package leasehold

import (
	"os"
	"runtime/debug"
	"strings"
)

// DefaultMetadata returns what an operator wants to know about the holder of a
// lease, as far as the process can tell:
//
//	host      the machine's name
//	pod       POD_NAME, which Kubernetes' downward API can set
//	version   of the main module, as built into the program
//	trace_id  of the trace that started the process, from TRACEPARENT
//
// Nothing is added by itself: set Options.Metadata to it, or to a copy with
// more.
func DefaultMetadata() map[string]string {
	host, _ := os.Hostname()
	m := make(map[string]string, 4)
	addPair(m, "host", host)
	addPair(m, "pod", os.Getenv("POD_NAME"))
	if build, ok := debug.ReadBuildInfo(); ok {
		addPair(m, "version", build.Main.Version)
	}
	addPair(m, "trace_id", traceID(os.Getenv("TRACEPARENT")))
	return m
}

// addPair leaves out what is empty or would be refused: a strange environment
// must not keep a program from taking leases.
func addPair(m map[string]string, key, value string) {
	if value != "" && checkPair(key, value) == nil {
		m[key] = value
	}
}

// traceID returns the trace id of a W3C traceparent, version-trace-span-flags.
func traceID(parent string) string {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || strings.Trim(parts[1], "0123456789abcdef") != "" || strings.Trim(parts[1], "0") == "" {
		return ""
	}
	return parts[1]
}
