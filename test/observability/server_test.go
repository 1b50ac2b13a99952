//go:build unix

package observability

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"

	"github.com/leasehold/leasehold/test/process"
)

// server is a real server of the program, as a process.
type server struct {
	*process.Process
	url  string // of the JSON API
	blob string // of the Blob API
	data string // its folder
}

func startServer(t *testing.T, environment ...string) *server {
	t.Helper()
	binary, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	p := process.Start(t, exec.Command(binary, "serve", "--json", "--listen", "127.0.0.1:0", "--blob-listen", "127.0.0.1:0", "--data", data, "--log-level", "warn"),
		func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, environment...) })
	var addresses struct {
		JSON string `json:"json_api"`
		Blob string `json:"azure_blob"`
	}
	eventually(t, "the server prints its addresses", func() bool {
		return json.Unmarshal([]byte(p.Stdout()), &addresses) == nil && addresses.JSON != ""
	})
	return &server{Process: p, url: addresses.JSON, blob: addresses.Blob, data: data}
}

// addr is HOST:PORT of the JSON API, the label instance of its series.
func (s *server) addr() string { return addrOf(s.url) }

func addrOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return err.Error()
	}
	return u.Host
}

// page is what /metrics says.
type page map[string]*dto.MetricFamily

func readPage(t testing.TB, text string) page {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("/metrics: %v", err)
	}
	return families
}

func getText(t testing.TB, url string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s = %s, %v", url, answer.Status, err)
	}
	return string(text)
}
