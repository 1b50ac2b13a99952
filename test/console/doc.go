// Package console has the tests of the web console in a real browser: headless
// Chromium, driven by chromedp, against a whole server on loopback. `make test-console`
// installs what they need and runs them.
package console
