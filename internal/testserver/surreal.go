package testserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// Surreal starts the SurrealDB engine of npm's @surrealdb/node behind a WebSocket: it
// serves ws://ADDR/rpc, and keeps its data over a restart. With the arguments "--user",
// NAME, "--pass", PASSWORD there is a root user that connections must sign in as.
//
// The data is in RocksDB: the engine's other two, memory and SurrealKV, let two
// transactions commit that write the same record (surrealdb/surrealdb#7303). Without
// sync=every it answers before a write is safe from a kill.
func Surreal(t T, args ...string) *Server {
	t.Helper()
	return surreal(t, append([]string{"--path", "rocksdb://" + filepath.Join(t.TempDir(), "data") + "?sync=every"}, args...))
}

func surreal(t T, args []string) *Server {
	t.Helper()
	node := program(t, "node")
	dir := os.Getenv(Emulators)
	if dir == "" {
		dir = emulatorFolder()
	}
	for _, needed := range []string{"surreal.mjs", "node_modules/@surrealdb/node", "node_modules/ws"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(needed))); err != nil {
			missing(t, "@surrealdb/node")
		}
	}
	return start(t, func(port int) *exec.Cmd {
		return exec.Command(node, append([]string{filepath.Join(dir, "surreal.mjs"), "--port", strconv.Itoa(port)}, args...)...)
	}, func(addr string) error { return getHTTP(addr, nil) })
}
