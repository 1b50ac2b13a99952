package console

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/leasehold/leasehold/internal/serve"
)

// updateImages is the environment variable with which the screenshots of the documents
// are written anew.
const updateImages = "LEASEHOLD_UPDATE_IMAGES"

// allImages writes those that no document shows, too.
const allImages = "LEASEHOLD_ALL_IMAGES"

// TestScreenshots draws every page in light and dark, on a desktop and on a phone.
func TestScreenshots(t *testing.T) {
	s := start(t, func(o *serve.Options) { lastHour(t, o.Data) })
	folder := t.TempDir()
	if os.Getenv(updateImages) != "" {
		folder = os.Getenv(updateImages)
	}
	kept := map[string]bool{"leases-light": true, "resource-dark": true, "plots-light": true, "leases-phone": true, "waiting-phone-dark": true}
	b := s.open("/console/waits") // from the first visit on the console notes refusals
	b.live()
	queues(s)
	b.shows("#refused", "ben was refused")
	for _, p := range []struct{ name, path string }{
		{"leases", "/console/"}, {"resource", "/console/resource?name=deploy:prod"}, {"holder", "/console/holder?name=agent:refactor"},
		{"waiting", "/console/waits"}, {"plots", "/console/plots?window=1h"}, {"settings", "/console/settings"}, {"health", "/console/health"},
	} {
		for _, v := range []struct {
			name          string
			scheme        string
			width, height int64
		}{{"light", "light", 1280, 800}, {"dark", "dark", 1280, 800}, {"phone", "light", 390, 800}, {"phone-dark", "dark", 390, 800}} {
			b.scheme(v.scheme)
			b.size(v.width, v.height)
			b.visit(p.path)
			if p.name != "settings" && p.name != "health" {
				b.live()
			}
			png := run(b, chromedp.CaptureScreenshot())
			if len(png) < 5000 {
				t.Errorf("the screenshot of %s has %d bytes", p.path, len(png))
			}
			if !kept[p.name+"-"+v.name] && os.Getenv(allImages) == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(folder, "console-"+p.name+"-"+v.name+".png"), png, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// populate makes leases, waiters and a past that are worth looking at.
func populate(s *site) {
	for i, held := range []time.Duration{250, 600, 150, 900, 400} {
		id := s.acquire("deploy:prod", fmt.Sprint("ci:", 4706+i), 120, nil)
		next := s.wait(map[string]any{"resource": "deploy:prod", "holder": "agent:docs", "ttl_seconds": 60})
		s.untilWaiting("deploy:prod", 1)
		time.Sleep(held * time.Millisecond) // a past that has a length
		s.release(id)
		_, grant := next()
		time.Sleep(held / 2 * time.Millisecond)
		s.release(grant["lease_id"].(string))
	}
	s.acquire("deploy:prod", "ci:4712", 300, map[string]string{"commit": "9f31c2e", "stage": "canary"})
	s.call("POST", "/v1/leases/acquire", map[string]any{"resource": "deploy:prod", "holder": "ci:4711", "blocking": true, "timeout_ms": 100})
	s.acquire("deploy:staging", "ci:4713", 60, map[string]string{"commit": "77ab01d"})
	s.acquire("report:2026-11", "anna", 900, map[string]string{"job": "4711"})
	s.acquire("migrate:billing", "agent:refactor", 45, nil)
	s.acquire("leader:scheduler", "node-3", 15, map[string]string{"zone": "eu-1b"})
	s.acquire("printer", "ben", -1, nil)
	s.call("POST", "/v1/leases/acquire", map[string]any{"holder": "agent:refactor", "namespace": "shop", "ttl_seconds": 600,
		"paths": []any{map[string]any{"pattern": "src/auth/**"}, map[string]any{"pattern": "go.mod"}}, "metadata": map[string]string{"task": "split the login"}})
	for _, holder := range []string{"ci:4714", "ci:4715", "agent:docs"} {
		s.wait(map[string]any{"resource": "deploy:prod", "holder": holder})
	}
	s.wait(map[string]any{"holder": "agent:tests", "namespace": "shop", "paths": []any{map[string]any{"pattern": "src/auth/login.go"}}})
}
