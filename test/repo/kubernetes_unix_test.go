//go:build unix

package repo_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// checkManifest reads the manifest against the program and the image, and then
// starts the server as the manifest does and probes it as the kubelet would.
func (p *program) checkManifest(t *testing.T) {
	const file = "deploy/kubernetes/leasehold.yaml"
	documents, err := parseYAML(readText(t, file))
	if err != nil || len(documents) != 2 {
		t.Fatalf("%s = %d documents, %v; want a Service and a StatefulSet", file, len(documents), err)
	}
	m := manifest{service: documents[0], set: documents[1], pod: dig(documents[1], "spec", "template", "spec")}
	m.container = dig(m.pod, "containers", "0")
	t.Run("values", func(t *testing.T) { m.checkValues(t, p.serveHelp(t)) })
	t.Run("mounts", m.checkMounts)
	t.Run("probes", func(t *testing.T) { p.probe(t, m) })
	t.Run("kubectl", func(t *testing.T) { kustomize(t, file) })
}

type manifest struct{ service, set, pod, container any }

// args are the container's, and m.env its environment.
func (m manifest) args() (words []string) {
	list, _ := dig(m.container, "args").([]any)
	for _, word := range list {
		words = append(words, word.(string))
	}
	return words
}

func (m manifest) checkValues(t *testing.T, h help) {
	h.checkFlags(t, m.args()...)
	user, group, _ := strings.Cut(readDockerfile(t).one("USER"), ":")
	const name = "app.kubernetes.io/name"
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"kind of the first", dig(m.service, "kind"), "Service"},
		{"kind of the second", dig(m.set, "kind"), "StatefulSet"},
		{"replicas", dig(m.set, "spec", "replicas"), "1"},
		{"selector of the service", dig(m.service, "spec", "selector", name), dig(m.set, "spec", "template", "metadata", "labels", name)},
		{"selector of the set", dig(m.set, "spec", "selector", "matchLabels", name), dig(m.set, "spec", "template", "metadata", "labels", name)},
		{"port of the service", dig(m.service, "spec", "ports", "0", "port"), h.port},
		{"target of the service", dig(m.service, "spec", "ports", "0", "targetPort"), dig(m.container, "ports", "0", "name")},
		{"port of the container", dig(m.container, "ports", "0", "containerPort"), h.port},
		{"listen address", slices.Contains(m.args(), "--listen=0.0.0.0:"+h.port), true},
		{"user", dig(m.pod, "securityContext", "runAsUser"), user},
		{"group", dig(m.pod, "securityContext", "runAsGroup"), group},
		{"group of the files", dig(m.pod, "securityContext", "fsGroup"), group},
		{"no root", dig(m.pod, "securityContext", "runAsNonRoot"), "true"},
		{"no escalation", dig(m.container, "securityContext", "allowPrivilegeEscalation"), "false"},
		{"no writing elsewhere", dig(m.container, "securityContext", "readOnlyRootFilesystem"), "true"},
		{"no capabilities", dig(m.container, "securityContext", "capabilities", "drop", "0"), "ALL"},
	} {
		if c.got != c.want || c.got == nil {
			t.Errorf("%s = %v, want %v", c.what, c.got, c.want)
		}
	}
}

// mounts maps the container's directories to the names of their volumes.
func (m manifest) mounts() map[string]string {
	mounts := map[string]string{}
	list, _ := dig(m.container, "volumeMounts").([]any)
	for _, v := range list {
		mounts[dig(v, "mountPath").(string)] = dig(v, "name").(string)
	}
	return mounts
}

func (m manifest) checkMounts(t *testing.T) {
	var volumes []any
	list, _ := dig(m.pod, "volumes").([]any)
	for _, v := range list {
		volumes = append(volumes, dig(v, "name"))
	}
	volumes = append(volumes, dig(m.set, "spec", "volumeClaimTemplates", "0", "metadata", "name"))
	for path, name := range m.mounts() {
		if !slices.Contains(volumes, any(name)) {
			t.Errorf("%s mounts %s, which is no volume of %v", path, name, volumes)
		}
	}
	for _, word := range m.args() {
		_, path, ok := strings.Cut(word, "=/")
		if ok && m.moved("/"+path, "ELSEWHERE") == "/"+path {
			t.Errorf("%s is below no volume", word)
		}
	}
}

// moved puts the container's directories below another root.
func (m manifest) moved(word, root string) string {
	for path := range m.mounts() {
		if before, after, ok := strings.Cut(word, path); ok && (after == "" || after[0] == '/') {
			return before + root + path + after
		}
	}
	return word
}

// probe starts the server with the manifest's own words, in directories of the
// test, and asks what the kubelet asks.
func (p *program) probe(t *testing.T, m manifest) {
	root := t.TempDir()
	for path := range m.mounts() {
		if err := os.MkdirAll(root+path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	makeCertificate(t, root+"/etc/leasehold/tls")
	tokens := root + "/etc/leasehold/tokens/tokens"
	p.run(t, "token", "new", "ci", "--role", "holder", "--token-file", tokens)
	if err := os.Chmod(tokens, 0o440); err != nil { // as a mounted secret is
		t.Fatal(err)
	}
	var flags []string
	for _, word := range m.args()[1:] {
		if strings.HasPrefix(word, "--listen=") {
			word = "--listen=127.0.0.1:0"
		}
		flags = append(flags, m.moved(word, root))
	}
	url := p.serve(t, flags...)
	for _, name := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
		get := dig(m.container, name, "httpGet")
		if dig(get, "scheme") != "HTTPS" || dig(get, "port") != dig(m.container, "ports", "0", "name") {
			t.Errorf("%s = %v, want HTTPS on the container's port", name, get)
		}
		checkAnswer(t, name, url+fmt.Sprint(dig(get, "path")))
	}
}

// checkAnswer asks as the kubelet does: without a token, any certificate will
// do.
func checkAnswer(t *testing.T, name, url string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}
	answer, err := client.Get(url)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("%s of %s = %s, want 200", name, url, answer.Status)
	}
}

// makeCertificate writes a certificate for localhost that vouches for itself.
func makeCertificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	writeFile(t, filepath.Join(dir, "tls.crt"), cert)
	writeFile(t, filepath.Join(dir, "ca.crt"), cert)
	writeFile(t, filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// kustomize has a real YAML parser read the manifest, where there is one.
func kustomize(t *testing.T, file string) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return // the manifest was read by our own parser all the same
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "leasehold.yaml"), []byte(readText(t, file)))
	writeFile(t, filepath.Join(dir, "kustomization.yaml"), []byte("resources:\n  - leasehold.yaml\n"))
	if out, err := exec.Command(kubectl, "kustomize", dir).CombinedOutput(); err != nil {
		t.Errorf("kubectl kustomize = %v\n%s", err, out)
	}
}
