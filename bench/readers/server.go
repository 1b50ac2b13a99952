package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	readerTokens = 32
	batchSize    = 256 // operations in one request
)

// server is `leasehold serve` with its durable default and a token file.
type server struct {
	dir    string
	cmd    *exec.Cmd
	url    string
	worker string   // the workers' token
	reader []string // the readers' tokens
	client *http.Client
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

func startServer(ctx context.Context, binary string) (s *server, err error) {
	s = &server{client: newClient()}
	if s.dir, err = os.MkdirTemp("", "bench-readers"); err != nil {
		return nil, err
	}
	if s.worker, err = s.newToken(binary, "worker", "holder,reader,operator"); err != nil {
		return nil, err
	}
	for i := range readerTokens {
		token, err := s.newToken(binary, fmt.Sprintf("reader%d", i), "reader")
		if err != nil {
			return nil, err
		}
		s.reader = append(s.reader, token)
	}
	s.cmd = exec.CommandContext(ctx, binary, "serve", "--listen", "127.0.0.1:0", "--blob-listen", "127.0.0.1:0",
		"--data", filepath.Join(s.dir, "data"), "--token-file", s.tokenFile(), "--rate", "-1", "--log-level", "error")
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start leasehold: %w", err)
	}
	for lines := bufio.NewScanner(out); s.url == "" && lines.Scan(); {
		s.url = address.FindString(lines.Text())
	}
	if s.url == "" {
		s.stop()
		return nil, fmt.Errorf("leasehold did not say where it listens")
	}
	go io.Copy(io.Discard, out)
	return s, nil
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	os.RemoveAll(s.dir)
}

func (s *server) tokenFile() string { return filepath.Join(s.dir, "tokens") }

func (s *server) newToken(binary, name, roles string) (string, error) {
	out, err := exec.Command(binary, "token", "new", name, "--role", roles, "--token-file", s.tokenFile()).Output()
	return strings.TrimSpace(string(out)), err
}

// newClient has a connection for each worker.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}}
}

// request sends a request and returns the answer's body. The answer must have one
// of the statuses.
func (s *server) request(ctx context.Context, method, path, body string, header map[string]string, statuses ...int) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.worker)
	r.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		r.Header.Set(k, v)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	for _, status := range statuses {
		if answer.StatusCode == status {
			return data, nil
		}
	}
	return nil, fmt.Errorf("%s %s: %w %s: %.200s", method, path, errStatus, answer.Status, data)
}

// fill writes so many records to the history.
func (s *server) fill(ctx context.Context, records int) error {
	fmt.Printf("  filling the history with %d records\n", records)
	for done := 0; done < records; done += 2 * batchSize {
		ids, err := s.acquireBatch(ctx)
		if err == nil {
			err = s.releaseBatch(ctx, ids)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// acquireBatch acquires leases and returns their ids.
func (s *server) acquireBatch(ctx context.Context) ([]string, error) {
	var operations []string
	for i := range batchSize {
		operations = append(operations, fmt.Sprintf(`{"op":"acquire","request":{"resource":"fill:%d","holder":"filler","ttl_seconds":60}}`, i))
	}
	return s.batch(ctx, operations)
}

func (s *server) releaseBatch(ctx context.Context, ids []string) error {
	var operations []string
	for _, id := range ids {
		operations = append(operations, fmt.Sprintf(`{"op":"release","request":{"lease_id":%q}}`, id))
	}
	_, err := s.batch(ctx, operations)
	return err
}

// batch makes many operations in one request and returns the leases' ids.
func (s *server) batch(ctx context.Context, operations []string) ([]string, error) {
	data, err := s.request(ctx, http.MethodPost, "/v1/leases/batch", `{"operations":[`+strings.Join(operations, ",")+`]}`, nil, http.StatusOK)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Answers []struct {
			Status int
			Body   struct {
				ID string `json:"lease_id"`
			}
		}
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	var ids []string
	for _, a := range answer.Answers {
		if a.Status/100 != 2 {
			return nil, fmt.Errorf("an operation of a batch: %w %d", errStatus, a.Status)
		}
		ids = append(ids, a.Body.ID)
	}
	return ids, nil
}

// putBlobs makes a container with so many small blobs.
func (s *server) putBlobs(ctx context.Context, n int) error {
	if _, err := s.request(ctx, http.MethodPut, container+"?restype=container", "", blobHeader, http.StatusCreated); err != nil {
		return err
	}
	content := strings.Repeat("x", 1<<10)
	for i := range n {
		if _, err := s.request(ctx, http.MethodPut, blobPath(i), content, blobHeader, http.StatusCreated); err != nil {
			return err
		}
	}
	return nil
}

const container = "/blob/devstoreaccount1/bench"

func blobPath(i int) string { return fmt.Sprintf("%s/%d", container, i) }

var blobHeader = map[string]string{
	"x-ms-version": "2021-12-02", "x-ms-blob-type": "BlockBlob", "Content-Type": "application/octet-stream",
}

// process is a child of this program that reads.
type process struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

// startChild starts readers in a process of their own and returns when all of
// them read.
func (s *server) startChild(what string, n int, prefix string) (*process, error) {
	p := &process{cmd: exec.Command(os.Args[0], "child", what, s.url, fmt.Sprint(n), prefix)}
	p.cmd.Env = append(os.Environ(), "TOKENS="+strings.Join(s.reader, ","))
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if line, err := p.out.ReadString('\n'); err != nil || line != "ready\n" {
		p.stop()
		return nil, fmt.Errorf("the %s did not start: %q, %v", what, line, err)
	}
	time.Sleep(500 * time.Millisecond) // until the load is steady
	return p, nil
}

// stop ends the readers and returns what they counted.
func (p *process) stop() string {
	p.in.Close()
	line, _ := p.out.ReadString('\n')
	_ = p.cmd.Wait()
	return strings.TrimSpace(line)
}
