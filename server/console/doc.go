// Package console is the web console: pages for people, rendered here, with one small
// script that keeps them up to date.
//
//   - console.go, route.go, visit.go: the server, its table of pages, one request.
//   - page.go, templates/, static/: how a page is rendered, and what it consists of.
//   - leases.go, row.go: the table of leases; filter.go: what it shows.
//   - resource.go, timeline.go: one resource, its queue and its history.
//   - holder.go: one holder.
//   - waits.go, graph.go, refusals.go: who waits for whom, and which cycles were refused.
//   - plots.go, measure.go, chart.go: waits, hold times and rates from the history.
//   - settings.go, health.go.
//   - action.go, form.go: what changes anything, and how it is protected.
//   - login.go: logging in and out.
//   - stream.go, feed.go, waiting.go: live updates.
//   - moment.go: pages as of a moment.
//
// A lease id is a secret: no page and no stream has one.
package console
