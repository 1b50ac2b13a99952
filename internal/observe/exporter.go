package observe

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The exporters read endpoints, headers, certificates and timeouts from the
// standard variables by themselves.

func newTraceExporter(ctx context.Context, s signal) (sdktrace.SpanExporter, error) {
	if s.grpc {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

func newMetricExporter(ctx context.Context, s signal) (sdkmetric.Exporter, error) {
	if s.grpc {
		return otlpmetricgrpc.New(ctx)
	}
	return otlpmetrichttp.New(ctx)
}

func newLogExporter(ctx context.Context, s signal) (sdklog.Exporter, error) {
	if s.grpc {
		return otlploggrpc.New(ctx)
	}
	return otlploghttp.New(ctx)
}

// exporterError is of an exporter that could not be made: a file that cannot be
// read, say.
func (p *Program) exporterError(what string, err error) error {
	return wrong("OTEL_EXPORTER_OTLP_"+strings.ToUpper(what)+"_*", "or OTEL_EXPORTER_OTLP_*: %s", redact(err.Error(), p.config.secrets))
}
