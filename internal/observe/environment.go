package observe

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// ErrEnvironment matches the error of a variable with a wrong value.
var ErrEnvironment = errors.New("a variable of OpenTelemetry is wrong")

type environmentError struct{ variable, problem string }

func (e *environmentError) Error() string        { return e.variable + " " + e.problem }
func (e *environmentError) Is(target error) bool { return target == ErrEnvironment }

func wrong(variable, format string, args ...any) error {
	return &environmentError{variable, fmt.Sprintf(format, args...)}
}

// config is what the variables say.
type config struct {
	traces, metrics, logs signal
	secrets               []string // values of headers
}

// signal is how traces, metrics or logs are exported.
type signal struct {
	export bool
	grpc   bool // else HTTP with protobuf
}

// The signals, as the variables name them.
const (
	tracesSignal  = "TRACES"
	metricsSignal = "METRICS"
	logsSignal    = "LOGS"
)

// readEnvironment checks the variables. The exporters and the SDK read most of
// them again: they ignore what they do not understand, and print it.
func readEnvironment() (c config, err error) {
	disabled, err := readBool("OTEL_SDK_DISABLED")
	if err != nil || disabled {
		return c, err
	}
	for name, s := range map[string]*signal{tracesSignal: &c.traces, metricsSignal: &c.metrics, logsSignal: &c.logs} {
		if *s, err = readSignal(name); err != nil {
			return c, err
		}
	}
	if err := checkResource(); err != nil {
		return c, err // /metrics has them, too
	}
	if !c.traces.export && !c.metrics.export && !c.logs.export {
		return c, nil
	}
	for _, check := range []func() error{checkSampler, checkNumbers, checkEndpoints, checkMetrics, checkCompression, checkCertificates, checkClientCertificates} {
		if err := check(); err != nil {
			return c, err
		}
	}
	c.secrets, err = readHeaders()
	return c, err
}

// Exports reports whether the environment names an exporter. It costs next to
// nothing, for commands that are over soon.
func Exports() bool {
	for _, name := range []string{tracesSignal, metricsSignal, logsSignal} {
		if os.Getenv("OTEL_"+name+"_EXPORTER") != "" || hasEndpoint(name) {
			return true
		}
	}
	return false
}

func hasEndpoint(name string) bool { return specific("OTEL_EXPORTER_OTLP_", name, "ENDPOINT") != "" }

// specific returns the variable of the signal, or else that of all signals.
func specific(prefix, name, suffix string) string {
	if v := os.Getenv(prefix + name + "_" + suffix); v != "" {
		return v
	}
	return os.Getenv(prefix + suffix)
}

func readSignal(name string) (s signal, err error) {
	variable := "OTEL_" + name + "_EXPORTER"
	exporters := strings.Split(os.Getenv(variable), ",")
	for _, e := range exporters {
		switch e = strings.TrimSpace(e); {
		case e == "" && len(exporters) == 1: // not set
			s.export = hasEndpoint(name)
		case e == "otlp":
			s.export = true
		case e == "none", e == "prometheus" && name == metricsSignal: // that is always there
		default:
			return s, wrong(variable, "is %q; want otlp or none", e)
		}
	}
	if !s.export {
		return s, nil
	}
	switch protocol := specific("OTEL_EXPORTER_OTLP_", name, "PROTOCOL"); protocol {
	case "", "http/protobuf":
	case "grpc":
		s.grpc = true
	default:
		return s, wrong("OTEL_EXPORTER_OTLP_PROTOCOL", "is %q for %s; want grpc or http/protobuf", protocol, strings.ToLower(name))
	}
	return s, nil
}

func readBool(variable string) (bool, error) {
	switch v := strings.ToLower(strings.TrimSpace(os.Getenv(variable))); v {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, wrong(variable, "is %q; want true or false", v)
	}
}

func checkSampler() error {
	name := strings.ToLower(strings.TrimSpace(os.Getenv("OTEL_TRACES_SAMPLER")))
	known := []string{"", "always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}
	if !slices.Contains(known, name) {
		return wrong("OTEL_TRACES_SAMPLER", "is %q; want one of %s", name, strings.Join(known[1:], ", "))
	}
	arg := strings.TrimSpace(os.Getenv("OTEL_TRACES_SAMPLER_ARG"))
	if arg == "" || !strings.HasSuffix(name, "ratio") {
		return nil
	}
	if ratio, err := strconv.ParseFloat(arg, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
		return wrong("OTEL_TRACES_SAMPLER_ARG", "is %q; want a share from 0 to 1", arg)
	}
	return nil
}

// numbers are variables in milliseconds or pieces.
var numbers = []string{
	"OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT",
	"OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
	"OTEL_BLRP_SCHEDULE_DELAY", "OTEL_BLRP_EXPORT_TIMEOUT", "OTEL_BLRP_MAX_QUEUE_SIZE", "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE",
	"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "OTEL_EXPORTER_OTLP_LOGS_TIMEOUT",
}

func checkNumbers() error {
	for _, variable := range numbers {
		v := strings.TrimSpace(os.Getenv(variable))
		if n, err := strconv.Atoi(v); v != "" && (err != nil || n < 1) {
			return wrong(variable, "is %q; want a whole number from 1 on", v)
		}
	}
	return nil
}

// perSignal returns the variable of all signals, and those of each.
func perSignal(suffix string) []string {
	all := []string{"OTEL_EXPORTER_OTLP_" + suffix}
	for _, name := range []string{tracesSignal, metricsSignal, logsSignal} {
		all = append(all, "OTEL_EXPORTER_OTLP_"+name+"_"+suffix)
	}
	return all
}

// checkEndpoints does not repeat an address, which may have a password in it.
func checkEndpoints() error {
	for _, variable := range perSignal("ENDPOINT") {
		v := strings.TrimSpace(os.Getenv(variable))
		u, err := url.Parse(v)
		if v != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
			return wrong(variable, "cannot be read; want http://HOST:PORT or https://HOST:PORT")
		}
	}
	return nil
}

func checkMetrics() error {
	for variable, known := range map[string][]string{
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE":        {"cumulative", "delta", "lowmemory"},
		"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": {"explicit_bucket_histogram", "base2_exponential_bucket_histogram"},
	} {
		v := strings.ToLower(strings.TrimSpace(os.Getenv(variable)))
		if last := len(known) - 1; v != "" && !slices.Contains(known, v) {
			return wrong(variable, "is %q; want %s or %s", v, strings.Join(known[:last], ", "), known[last])
		}
	}
	return nil
}

func checkCompression() error {
	for _, variable := range perSignal("COMPRESSION") {
		if v := os.Getenv(variable); v != "" && v != "gzip" && v != "none" {
			return wrong(variable, "is %q; want gzip or none", v)
		}
	}
	return nil
}

// checkCertificates reads the certificates: the exporters would do without those
// that cannot be read.
func checkCertificates() error {
	for _, variable := range perSignal("CERTIFICATE") {
		file := os.Getenv(variable)
		if file == "" {
			continue
		}
		pem, err := os.ReadFile(file)
		if err != nil {
			return wrong(variable, "names a file that cannot be read: %v", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			return wrong(variable, "names %s, which has no certificate in PEM form", file)
		}
	}
	return nil
}

func checkClientCertificates() error {
	certificates, keys := perSignal("CLIENT_CERTIFICATE"), perSignal("CLIENT_KEY")
	for i, variable := range certificates {
		certificate, key := os.Getenv(variable), os.Getenv(keys[i])
		if certificate == "" && key == "" {
			continue
		}
		if _, err := tls.LoadX509KeyPair(certificate, key); err != nil {
			return wrong(variable, "and %s cannot be used: %v", keys[i], err)
		}
	}
	return nil
}

func checkResource() error {
	_, err := readPairs("OTEL_RESOURCE_ATTRIBUTES", func(name string) bool { return name != "" })
	return err
}

// readHeaders returns the values of the headers and the words in them: a receiver
// that complains may leave out "Bearer". The longest come first, as redact wants.
func readHeaders() (values []string, err error) {
	for _, variable := range perSignal("HEADERS") {
		more, err := readPairs(variable, isHeaderName)
		if err != nil {
			return nil, err
		}
		for _, value := range more {
			values = append(append(values, value), strings.Fields(value)...)
		}
	}
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	return values, nil
}

// readPairs returns the values of name=value,name=value, both as they are written
// and unescaped. Its error has none of them: they may be secrets.
func readPairs(variable string, validName func(string) bool) (values []string, err error) {
	text := os.Getenv(variable)
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for _, pair := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		value = strings.TrimSpace(value)
		unescaped, err := url.PathUnescape(value)
		if !ok || err != nil || !validName(strings.TrimSpace(name)) {
			return nil, wrong(variable, "cannot be read; want name=value,name=value with values escaped as in a URL")
		}
		values = append(values, value, unescaped)
	}
	return values, nil
}

func isHeaderName(s string) bool {
	notName := func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	}
	return s != "" && !strings.ContainsFunc(s, notName)
}

// redact removes the secrets from a text. One that is part of another must come
// after it, or the rest of the other would stay.
func redact(text string, secrets []string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	return text
}
