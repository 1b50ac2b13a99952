package testserver

import (
	"fmt"
	"net/http"
	"os/exec"
	"time"
)

// Prometheus starts Debian's prometheus with a configuration file.
func Prometheus(t T, config string) *Server {
	t.Helper()
	server, dir := program(t, "prometheus"), t.TempDir()
	return start(t, func(port int) *exec.Cmd {
		return exec.Command(server, "--config.file", config, "--storage.tsdb.path", dir,
			"--web.listen-address", loopback(port), "--log.level", "warn")
	}, func(addr string) error { return isReady("http://" + addr + "/-/ready") })
}

// Alertmanager starts Debian's prometheus-alertmanager with a configuration file. It
// knows no other one.
func Alertmanager(t T, config string) *Server {
	t.Helper()
	server, dir := program(t, "prometheus-alertmanager"), t.TempDir()
	return start(t, func(port int) *exec.Cmd {
		return exec.Command(server, "--config.file", config, "--storage.path", dir,
			"--web.listen-address", loopback(port), "--cluster.listen-address", "", "--log.level", "warn")
	}, func(addr string) error { return isReady("http://" + addr + "/-/ready") })
}

// Tool returns the path of an installed program that is no server: promtool, amtool.
func Tool(t T, name string) string {
	t.Helper()
	return program(t, name)
}

func isReady(url string) error {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s = %s", url, answer.Status)
	}
	return nil
}
