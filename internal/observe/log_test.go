package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/leasehold/leasehold/server/api"
)

// buffer is a writer that can be read meanwhile, and that can be held up.
type buffer struct {
	mu     sync.Mutex
	b      bytes.Buffer
	writes int
	block  chan struct{} // nil: none
}

func (b *buffer) Write(p []byte) (int, error) {
	if b.block != nil {
		<-b.block
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes++
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestLog(t *testing.T) {
	clearEnvironment(t)
	out := &buffer{}
	l := NewLog(out, true, slog.LevelInfo)
	log := l.Logger().With("a", 1).WithGroup("g")
	ctx := withRemote(context.Background(), api.Trace{Parent: parent})
	log.DebugContext(ctx, "not yet")
	log.InfoContext(ctx, "first", "b", 2)
	l.Level.Set(slog.LevelDebug)
	log.Debug("second")
	log.Error("third")
	if !strings.Contains(out.String(), "third") {
		t.Errorf("an error was not written at once: %q", out)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	log.Error("after the end")
	var records []map[string]any
	for line := range strings.Lines(out.String()) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q is no JSON: %v", line, err)
		}
		records = append(records, r)
	}
	if len(records) != 4 {
		t.Fatalf("%d records, want 4: %s", len(records), out)
	}
	first := records[0]
	if first["msg"] != "first" || first["a"] != 1.0 || fmt.Sprint(first["g"]) != "map[b:2]" ||
		first["trace_id"] != "0af7651916cd43dd8448eb211c80319c" || first["span_id"] != "b7ad6b7169203331" {
		t.Errorf("the first record is %v", first)
	}
	if _, ok := records[1]["trace_id"]; ok {
		t.Errorf("a record without a span is %v", records[1])
	}
}

func TestLogText(t *testing.T) {
	out := &buffer{}
	l := NewLog(out, false, slog.LevelWarn)
	l.Logger().Warn("words", "k", "v")
	l.telemetryFailed("no answer")
	l.Close()
	for _, want := range []string{"level=WARN msg=words k=v\n", `msg="telemetry could not be exported" error="no answer"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log is %q, want %q", out, want)
		}
	}
}

// A program without a log works, and a log of nobody drops its records.
func TestNilLog(t *testing.T) {
	var l *Log
	l.Logger().Error("dropped")
	l.telemetryFailed("dropped")
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Records are written whole, in order and all of them, however slow the writer.
func TestLogWriter(t *testing.T) {
	out := &buffer{block: make(chan struct{})}
	w := newLogWriter(out)
	const each, writers = 300, 8
	line := strings.Repeat("x", 4096)
	var running sync.WaitGroup
	for i := range writers {
		running.Go(func() {
			for n := range each {
				fmt.Fprintf(w, "%d %d %s\n", i, n, line) // more than may wait
			}
		})
	}
	close(out.block)
	running.Wait()
	w.flush()
	if got := strings.Count(out.String(), "\n"); got != each*writers {
		t.Errorf("after flush %d records are written, want %d", got, each*writers)
	}
	w.close()
	var next [writers]int
	for record := range strings.Lines(out.String()) {
		var i, n int
		var rest string
		if _, err := fmt.Sscanf(record, "%d %d %s\n", &i, &n, &rest); err != nil || rest != line {
			t.Fatalf("a record is %.40q: %v", record, err)
		}
		if n != next[i] {
			t.Fatalf("record %d of writer %d comes after %d", n, i, next[i])
		}
		next[i]++
	}
	if out.writes >= each*writers {
		t.Errorf("%d writes for %d records, want several records in one", out.writes, each*writers)
	}
}

// FuzzTrace: whatever a client sends is a span or is ignored, and a span is sent on
// as it came.
func FuzzTrace(f *testing.F) {
	f.Add(parent, "a=1")
	f.Add("00-00000000000000000000000000000000-0000000000000000-00", "")
	f.Add("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "=")
	f.Add("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", strings.Repeat("a=1,", 40))
	f.Fuzz(func(t *testing.T, traceparent, tracestate string) {
		ctx := withRemote(context.Background(), api.Trace{Parent: traceparent, State: tracestate})
		s := trace.SpanContextFromContext(ctx)
		if s.IsValid() && !(s.IsRemote() && strings.Contains(traceparent, s.TraceID().String()+"-"+s.SpanID().String())) {
			t.Errorf("%q, %q = %v", traceparent, tracestate, s)
		}
		if !s.IsValid() && len(Environment(ctx)) > 0 {
			t.Errorf("%q, %q is no span, and is passed on", traceparent, tracestate)
		}
	})
}

func TestEnvironmentCarrier(t *testing.T) {
	for _, c := range []struct{ parent, state, want string }{
		{parent, "", "[TRACEPARENT=" + parent + "]"},
		{parent, "a=1", "[TRACEPARENT=" + parent + " TRACESTATE=a=1]"},
		{"nonsense", "a=1", "[]"},
		{"", "", "[]"},
	} {
		setEnvironment(t, "TRACEPARENT="+c.parent, "TRACESTATE="+c.state)
		if got := fmt.Sprint(Environment(FromEnvironment(context.Background()))); got != c.want {
			t.Errorf("%q, %q is passed on as %s, want %s", c.parent, c.state, got, c.want)
		}
	}
	if (&carrier{}).Get("other") != "" || len((&carrier{}).Keys()) != 2 {
		t.Error("a carrier has more than it has")
	}
}

// BenchmarkLog writes a record such as the API's for an acquire.
func BenchmarkLog(b *testing.B) {
	log := NewLog(io.Discard, true, slog.LevelInfo)
	defer log.Close()
	logger, ctx := log.Logger(), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		logger.LogAttrs(ctx, slog.LevelInfo, "acquired",
			slog.String("resource", "6f1e6a1e-6a3e-4a0c-9b1e-0a8f6a1e6a3e"), slog.String("holder", "worker"), slog.Uint64("token", 123456),
			slog.Duration("took", 123*time.Microsecond), slog.String("caller", "anonymous"))
	}
}
