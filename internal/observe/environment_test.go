package observe

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const secret = "s3cret-of-the-collector"

// clearEnvironment removes the variables of whoever runs the tests.
func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "OTEL_") || strings.HasPrefix(name, "TRACE") {
			t.Setenv(name, "")
		}
	}
}

func setEnvironment(t *testing.T, all ...string) {
	t.Helper()
	clearEnvironment(t)
	for _, pair := range all {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
}

func TestReadEnvironment(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"
	on, grpc := signal{export: true}, signal{export: true, grpc: true}
	for _, c := range []struct {
		name      string
		variables []string
		want      config
		exports   bool
	}{
		{"nothing", nil, config{}, false},
		{"an endpoint for all", []string{endpoint}, config{traces: on, metrics: on, logs: on}, true},
		{"an endpoint for traces", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://h:1/x"}, config{traces: on}, true},
		{"an exporter without an endpoint", []string{"OTEL_LOGS_EXPORTER=otlp"}, config{logs: on}, true},
		{"one is none", []string{endpoint, "OTEL_METRICS_EXPORTER=none"}, config{traces: on, logs: on}, true},
		{"prometheus is always there", []string{"OTEL_METRICS_EXPORTER=prometheus"}, config{}, true},
		{"both", []string{"OTEL_METRICS_EXPORTER=prometheus, otlp"}, config{metrics: on}, true},
		{"grpc", []string{endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, config{traces: grpc, metrics: grpc, logs: grpc}, true},
		{"grpc for one", []string{endpoint, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=grpc"}, config{traces: on, metrics: grpc, logs: on}, true},
		{"HTTP by name", []string{endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"}, config{traces: on, metrics: on, logs: on}, true},
		{"disabled", []string{endpoint, "OTEL_SDK_DISABLED=TRUE", "OTEL_TRACES_SAMPLER=nonsense"}, config{}, true},
		{"not disabled", []string{endpoint, "OTEL_SDK_DISABLED=false"}, config{traces: on, metrics: on, logs: on}, true},
		{"samplers", []string{endpoint, "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.5"}, config{traces: on, metrics: on, logs: on}, true},
		{"increases", []string{endpoint, "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=Delta"}, config{traces: on, metrics: on, logs: on}, true},
		{"wrong values of what is not used", []string{"OTEL_TRACES_SAMPLER=nonsense", "OTEL_EXPORTER_OTLP_HEADERS=nonsense"}, config{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			setEnvironment(t, c.variables...)
			got, err := readEnvironment()
			if err != nil || got.traces != c.want.traces || got.metrics != c.want.metrics || got.logs != c.want.logs {
				t.Errorf("readEnvironment = %+v, %v, want %+v", got, err, c.want)
			}
			if Exports() != c.exports {
				t.Errorf("Exports() = %v, want %v", !c.exports, c.exports)
			}
		})
	}
}

func TestWrongVariables(t *testing.T) {
	for _, c := range []struct{ variable, value, says string }{
		{"OTEL_SDK_DISABLED", "maybe", `is "maybe"; want true or false`},
		{"OTEL_TRACES_EXPORTER", "jaeger", `is "jaeger"; want otlp or none`},
		{"OTEL_TRACES_EXPORTER", "prometheus", `is "prometheus"; want otlp or none`},
		{"OTEL_LOGS_EXPORTER", "otlp,", `is ""; want otlp or none`},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", `is "http/json" for`},
		{"OTEL_TRACES_SAMPLER", "xray", `is "xray"; want one of always_on`},
		{"OTEL_TRACES_SAMPLER_ARG", "2", `is "2"; want a share from 0 to 1`},
		{"OTEL_TRACES_SAMPLER_ARG", "NaN", `is "NaN"; want a share from 0 to 1`},
		{"OTEL_METRIC_EXPORT_INTERVAL", "1m", `is "1m"; want a whole number`},
		{"OTEL_BSP_MAX_QUEUE_SIZE", "0", `is "0"; want a whole number from 1 on`},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "user:" + secret + "@host", "cannot be read; want http://HOST:PORT"},
		{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://", "cannot be read; want http://HOST:PORT"},
		{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "increases", `is "increases"; want cumulative, delta or lowmemory`},
		{"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "fine", `is "fine"; want explicit_bucket_histogram or base2_exponential_bucket_histogram`},
		{"OTEL_EXPORTER_OTLP_COMPRESSION", "zip", `is "zip"; want gzip or none`},
		{"OTEL_EXPORTER_OTLP_HEADERS", secret, "cannot be read; want name=value"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a=1,b c=" + secret, "cannot be read; want name=value"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a=" + secret + "%zz", "cannot be read; want name=value"},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "=" + secret, "cannot be read; want name=value"},
		{"OTEL_RESOURCE_ATTRIBUTES", "region", "cannot be read; want name=value"},
	} {
		t.Run(c.variable+" "+c.value, func(t *testing.T) {
			setEnvironment(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_TRACES_SAMPLER=traceidratio", c.variable+"="+c.value)
			_, err := Start(context.Background(), Options{})
			if !errors.Is(err, ErrEnvironment) || !strings.HasPrefix(err.Error(), c.variable+" "+c.says) || strings.Contains(err.Error(), secret) {
				t.Errorf("Start = %v, want %s %s", err, c.variable, c.says)
			}
		})
	}
}

// A certificate that cannot be read is an error at the start, of each signal and
// protocol.
func TestWrongCertificate(t *testing.T) {
	noPEM := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(noPEM, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		for _, name := range []string{"TRACES", "METRICS", "LOGS"} {
			t.Run(protocol+" "+name, func(t *testing.T) {
				for _, variable := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
					variable = "OTEL_EXPORTER_OTLP_" + name + "_" + variable
					for _, file := range []string{"/no/such/file", noPEM} {
						setEnvironment(t, "OTEL_"+name+"_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol, variable+"="+file)
						if _, err := Start(context.Background(), Options{}); !errors.Is(err, ErrEnvironment) || !strings.Contains(err.Error(), variable) {
							t.Errorf("Start with %s=%s = %v, want an error about it", variable, file, err)
						}
					}
				}
			})
		}
	}
}

func TestRedact(t *testing.T) {
	if got := redact("code 401: Bearer abc is wrong", []string{"", "abc"}); got != "code 401: Bearer *** is wrong" {
		t.Errorf("redact = %q", got)
	}
}

func TestResource(t *testing.T) {
	for _, c := range []struct {
		name      string
		variables []string
		want      map[string]string
	}{
		{"defaults", nil, map[string]string{"service.name": "leasehold", "service.version": "v1", "k8s.pod.name": "", "cloud.region": ""}},
		{"Kubernetes", []string{"KUBERNETES_SERVICE_HOST=10.0.0.1", "HOSTNAME=leasehold-0"}, map[string]string{"k8s.pod.name": "leasehold-0"}},
		{"elsewhere", []string{"HOSTNAME=laptop"}, map[string]string{"k8s.pod.name": ""}},
		{"the deployment's own", []string{"POD_NAME=p", "DEPLOYMENT_ENVIRONMENT=prod", "REGION_NAME=northeurope"},
			map[string]string{"k8s.pod.name": "p", "deployment.environment.name": "prod", "cloud.region": "northeurope"}},
		{"the standard wins", []string{"POD_NAME=p", "OTEL_SERVICE_NAME=mine", "OTEL_RESOURCE_ATTRIBUTES=k8s.pod.name=q,service.version=v2"},
			map[string]string{"service.name": "mine", "service.version": "v2", "k8s.pod.name": "q"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			setEnvironment(t, append([]string{"KUBERNETES_SERVICE_HOST=", "HOSTNAME=", "POD_NAME=", "REGION_NAME=", "AWS_REGION=", "DEPLOYMENT_ENVIRONMENT="}, c.variables...)...)
			p := &Program{options: Options{Version: "v1"}}
			got := map[string]string{}
			for _, a := range p.resource().Attributes() {
				got[string(a.Key)] = a.Value.AsString()
			}
			for key, value := range c.want {
				if got[key] != value {
					t.Errorf("%s = %q, want %q", key, got[key], value)
				}
			}
		})
	}
}

// A receiver that repeats what it was sent may repeat a part of it.
func TestHeadersAreRedacted(t *testing.T) {
	setEnvironment(t, "OTEL_EXPORTER_OTLP_HEADERS=tenant=abc,key=abcdef,authorization=Bearer%20geheim")
	secrets, err := readHeaders()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"key abcdef of abc is wrong": "key *** of *** is wrong",
		"no such token: geheim":      "no such token: ***",
		"Bearer geheim is wrong":     "*** is wrong",
		"Bearer%20geheim is wrong":   "*** is wrong",
	} {
		if got := redact(text, secrets); got != want {
			t.Errorf("redact(%q) = %q, want %q", text, got, want)
		}
	}
}
