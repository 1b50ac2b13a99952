// Package setup writes what coding agents need into a repository: the hooks in the
// settings of each tool, and the entry of the MCP server. It plans before it writes,
// so that the change can be shown, adds to what is there without touching the rest,
// and keeps a Record from which Undo takes back exactly what was added, also after
// others have edited the same files.
package setup
