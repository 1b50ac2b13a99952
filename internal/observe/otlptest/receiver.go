// Package otlptest is a receiver of OTLP for tests: traces, metrics and logs, over
// gRPC and over HTTP, on loopback.
package otlptest

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// Receiver keeps all that it receives.
type Receiver struct {
	GRPC, HTTP string // endpoints: URLs

	grpc *grpc.Server
	http *http.Server
	done sync.WaitGroup

	mu      sync.Mutex
	traces  []*tracepb.ExportTraceServiceRequest
	metrics []*metricspb.ExportMetricsServiceRequest
	logs    []*logspb.ExportLogsServiceRequest
	headers []string // "name: value", names in small letters
	refuse  bool
}

// Start returns a receiver that serves until Close.
func Start() (*Receiver, error) {
	r := &Receiver{grpc: grpc.NewServer()}
	r.http = &http.Server{Handler: http.HandlerFunc(r.serveHTTP)}
	tracepb.RegisterTraceServiceServer(r.grpc, traceService{r: r})
	metricspb.RegisterMetricsServiceServer(r.grpc, metricsService{r: r})
	logspb.RegisterLogsServiceServer(r.grpc, logsService{r: r})
	for endpoint, serve := range map[*string]func(net.Listener) error{&r.GRPC: r.grpc.Serve, &r.HTTP: r.http.Serve} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			r.Close()
			return nil, err
		}
		*endpoint = "http://" + listener.Addr().String()
		r.done.Go(func() { _ = serve(listener) })
	}
	return r, nil
}

// Close ends the receiver.
func (r *Receiver) Close() {
	r.grpc.Stop()
	_ = r.http.Close()
	r.done.Wait()
}

// Refuse makes the receiver refuse everything from now on, as one does whose
// clients show wrong credentials.
func (r *Receiver) Refuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = true
}

// keep remembers one request.
func (r *Receiver) keep(m proto.Message, headers map[string][]string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, values := range headers {
		for _, v := range values {
			r.headers = append(r.headers, strings.ToLower(name)+": "+v)
		}
	}
	if r.refuse {
		return errRefused
	}
	switch m := m.(type) {
	case *tracepb.ExportTraceServiceRequest:
		r.traces = append(r.traces, m)
	case *metricspb.ExportMetricsServiceRequest:
		r.metrics = append(r.metrics, m)
	case *logspb.ExportLogsServiceRequest:
		r.logs = append(r.logs, m)
	}
	return nil
}

type refusal string

func (e refusal) Error() string { return string(e) }

const errRefused = refusal("refused")

func (r *Receiver) keepRPC(ctx context.Context, m proto.Message) error {
	headers, _ := metadata.FromIncomingContext(ctx)
	return r.keep(m, headers)
}

func (r *Receiver) serveHTTP(w http.ResponseWriter, req *http.Request) {
	messages := map[string]proto.Message{
		"/v1/traces":  new(tracepb.ExportTraceServiceRequest),
		"/v1/metrics": new(metricspb.ExportMetricsServiceRequest),
		"/v1/logs":    new(logspb.ExportLogsServiceRequest),
	}
	m := messages[req.URL.Path]
	body, err := readBody(req)
	if m == nil || err != nil || proto.Unmarshal(body, m) != nil {
		http.Error(w, "want an export of OTLP", http.StatusBadRequest)
		return
	}
	if r.keep(m, req.Header) != nil {
		http.Error(w, "refused", http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func readBody(req *http.Request) ([]byte, error) {
	var body io.Reader = req.Body
	if req.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = z
	}
	return io.ReadAll(body)
}

type traceService struct {
	tracepb.UnimplementedTraceServiceServer
	r *Receiver
}

func (s traceService) Export(ctx context.Context, m *tracepb.ExportTraceServiceRequest) (*tracepb.ExportTraceServiceResponse, error) {
	return &tracepb.ExportTraceServiceResponse{}, s.r.keepRPC(ctx, m)
}

type metricsService struct {
	metricspb.UnimplementedMetricsServiceServer
	r *Receiver
}

func (s metricsService) Export(ctx context.Context, m *metricspb.ExportMetricsServiceRequest) (*metricspb.ExportMetricsServiceResponse, error) {
	return &metricspb.ExportMetricsServiceResponse{}, s.r.keepRPC(ctx, m)
}

type logsService struct {
	logspb.UnimplementedLogsServiceServer
	r *Receiver
}

func (s logsService) Export(ctx context.Context, m *logspb.ExportLogsServiceRequest) (*logspb.ExportLogsServiceResponse, error) {
	return &logspb.ExportLogsServiceResponse{}, s.r.keepRPC(ctx, m)
}

// Headers returns the headers of all requests, as "name: value".
func (r *Receiver) Headers() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.headers)
}

// Text returns everything that was received, as text: to search for what must not
// be there.
func (r *Receiver) Text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, m := range r.traces {
		b.WriteString(m.String())
	}
	for _, m := range r.metrics {
		b.WriteString(m.String())
	}
	for _, m := range r.logs {
		b.WriteString(m.String())
	}
	return b.String()
}
