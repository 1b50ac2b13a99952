package observe

import (
	"cmp"
	"context"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// resource says what this process is, by OpenTelemetry's conventions.
// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win over everything else.
func (p *Program) resource() *resource.Resource {
	attributes := []attribute.KeyValue{attribute.String("service.name", "leasehold"), attribute.String("service.version", p.options.Version)}
	for key, value := range map[string]string{
		"deployment.environment.name": os.Getenv("DEPLOYMENT_ENVIRONMENT"),
		"cloud.region":                cmp.Or(os.Getenv("REGION_NAME"), os.Getenv("AWS_REGION")), // Azure's and Amazon's own
		"k8s.pod.name":                podName(),
	} {
		if value != "" {
			attributes = append(attributes, attribute.String(key, value))
		}
	}
	// What an error leaves out is not there; readEnvironment has refused it.
	r, _ := resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithAttributes(attributes...), resource.WithFromEnv())
	return r
}

// podName is POD_NAME, which deployments set, or the host name that Kubernetes
// gives a pod.
func podName() string {
	if name := os.Getenv("POD_NAME"); name != "" || os.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		return name
	}
	return os.Getenv("HOSTNAME")
}
