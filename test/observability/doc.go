// Package observability holds the tests of deploy/observability: rules and routes
// with Prometheus' own tools, the names in dashboard, rules and queries against what
// a real server exports, and each panel's query through a real Prometheus against
// what the test has counted.
//
// `make test-observability` runs them, and the checks of the JavaScript files here.
package observability
