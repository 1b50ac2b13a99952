package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/leasehold/leasehold/internal/serve"
)

// required is the environment variable that `make test-console` sets: with 1 a missing
// browser is a failure; otherwise these tests are skipped.
const required = "LEASEHOLD_TEST_CONSOLE"

// patience is how long a condition may take on a busy machine.
const patience = 60 * time.Second

// browser is the Chromium of all tests; nil if they are skipped.
var browser context.Context

func TestMain(m *testing.M) {
	if os.Getenv(required) != "1" {
		os.Exit(m.Run())
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s=1 requires chromium; make test-console installs it\n", required)
		os.Exit(1)
	}
	dir, err := os.MkdirTemp("", "leasehold-chromium")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(dir), chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("enable-precise-memory-info", true), chromedp.Flag("js-flags", "--expose-gc"),
		chromedp.Flag("force-color-profile", "srgb"), chromedp.WindowSize(1280, 900))
	allocator, closeAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	var closeBrowser context.CancelFunc
	browser, closeBrowser = chromedp.NewContext(allocator)
	if _, err := chromedp.Run(browser, chromedp.Evaluate[int]("1")); err != nil {
		fmt.Fprintln(os.Stderr, "chromium does not start:", err)
		os.Exit(1)
	}
	code := m.Run()
	closeBrowser()
	closeAllocator()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// site is a server with its console.
type site struct {
	t       *testing.T
	options serve.Options
	server  *serve.Server
	url     string
	secret  string // of the token that calls of the API show; empty: none
}

// start serves until the test ends.
func start(t *testing.T, change func(*serve.Options)) *site {
	t.Helper()
	if browser == nil {
		t.Skipf("%s is not 1: make test-console runs this test", required)
	}
	o := serve.Defaults()
	o.Listen, o.BlobListen, o.Data, o.Durability = "127.0.0.1:0", serve.BlobOff, filepath.Join(t.TempDir(), "data"), "normal"
	o.Reserve, o.Version = 0, "1.0"
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	if change != nil {
		change(&o)
	}
	s := &site{t: t, options: o}
	s.run()
	t.Cleanup(s.stop)
	return s
}

func (s *site) run() {
	s.t.Helper()
	server, err := serve.Start(context.Background(), s.options)
	if err != nil {
		s.t.Fatal(err)
	}
	s.server, s.url = server, server.APIs()[0].URL
	s.options.Listen = strings.TrimPrefix(strings.TrimPrefix(s.url, "http://"), "https://") // where it comes back
}

func (s *site) stop() {
	if s.server == nil {
		return
	}
	if err := s.server.Close(); err != nil {
		s.t.Errorf("Close = %v", err)
	}
	s.server = nil
}

// call sends JSON to the API and returns the answer's status and object.
func (s *site) call(method, path string, body any) (int, map[string]any) {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(context.Background(), method, s.url+path, bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if s.secret != "" {
		r.Header.Set("Authorization", "Bearer "+s.secret)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	object := map[string]any{}
	if err := json.Unmarshal(data, &object); err != nil {
		s.t.Fatalf("%s %s = %d %s", method, path, answer.StatusCode, data)
	}
	return answer.StatusCode, object
}

// acquire acquires a lease and returns its id.
func (s *site) acquire(resource, holder string, seconds float64, metadata map[string]string) string {
	s.t.Helper()
	body := map[string]any{"resource": resource, "holder": holder, "ttl_seconds": seconds}
	if metadata != nil {
		body["metadata"] = metadata
	}
	status, answer := s.call("POST", "/v1/leases/acquire", body)
	if status != http.StatusCreated {
		s.t.Fatalf("acquire %q = %d %v, want 201", resource, status, answer)
	}
	return answer["lease_id"].(string)
}

func (s *site) release(id string) {
	s.t.Helper()
	if status, answer := s.call("POST", "/v1/leases/release", map[string]any{"lease_id": id}); status != http.StatusOK {
		s.t.Fatalf("release = %d %v, want 200", status, answer)
	}
}

// wait queues in the background. The returned function waits for the answer.
func (s *site) wait(body map[string]any) (answered func() (int, map[string]any)) {
	type answer struct {
		status int
		object map[string]any
	}
	done := make(chan answer, 1)
	body["blocking"] = true
	if body["timeout_ms"] == nil {
		body["timeout_ms"] = 600_000
	}
	text, _ := json.Marshal(body)
	go func() {
		var a answer
		if r, err := http.Post(s.url+"/v1/leases/acquire", "application/json", bytes.NewReader(text)); err == nil {
			a.status = r.StatusCode
			_ = json.NewDecoder(r.Body).Decode(&a.object)
			r.Body.Close()
		}
		done <- a
	}()
	return func() (int, map[string]any) { a := <-done; return a.status, a.object }
}

// tab is a tab of the browser.
type tab struct {
	t   *testing.T
	ctx context.Context
	s   *site
}

// open opens a tab on a page, with cookies of its own.
func (s *site) open(path string) *tab {
	s.t.Helper()
	ctx, closeTab := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	s.t.Cleanup(closeTab)
	b := &tab{s.t, ctx, s}
	if _, err := chromedp.Run(ctx, chromedp.EmulateViewport(1280, 900)); err != nil {
		s.t.Fatal(err)
	}
	b.visit(path)
	return b
}

// run runs an action within the patience of a test.
func run[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatalf("browser: %v", err)
	}
	return value
}

// call sends a command of the browser's protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	answer, err := chromedp.Call(ctx, command, params)
	if err != nil {
		b.t.Fatalf("browser: %v", err)
	}
	return answer
}

// eval returns the value of an expression in the page, or of what it promises.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	return run(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

func (b *tab) visit(path string) {
	b.t.Helper()
	run(b, chromedp.Navigate(b.s.url+path))
}

// text returns the text of the first element that fits; empty if there is none.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf(`(document.querySelector(%q) || {innerText: ''}).innerText`, selector))
}

// until waits for an expression to be true, across the loading of pages.
func (b *tab) until(expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		cancel()
		if err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("waited %v for %s (last error: %v)\nthe page says:\n%s", patience, expression, err, b.text("body"))
		}
		time.Sleep(30 * time.Millisecond) // the browser lives in real time
	}
}

// shows waits until an element's text has this part.
func (b *tab) shows(selector, part string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.innerText.includes(%q))`, selector, part))
}

// live waits until the page's stream stands.
func (b *tab) live() {
	b.t.Helper()
	b.until(`document.documentElement.dataset.live === 'on'`)
}

// scheme shows the page in light or dark.
func (b *tab) scheme(name string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
}

func (b *tab) size(width, height int64) {
	b.t.Helper()
	run(b, chromedp.EmulateViewport(width, height))
}

// click clicks on the first element that fits. The page may draw it anew between the
// browser's search and the click; then nothing was clicked, and it is searched again.
func (b *tab) click(selector string) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		_, err := chromedp.Run(ctx, chromedp.Click(selector))
		cancel()
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "node") || time.Now().After(deadline) {
			b.t.Fatalf("click on %s: %v", selector, err)
		}
	}
}

// fill sets a field.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	eval[any](b, fmt.Sprintf(`document.querySelector(%q).value = %q, null`, selector, text))
}

// submit clicks on a button or link and waits for the whole page that answers.
func (b *tab) submit(selector string) {
	b.t.Helper()
	eval[any](b, `window.before = true, null`)
	b.click(selector)
	b.until(`!window.before && document.readyState === 'complete'`)
}
