package testserver

import (
	"context"
	"crypto/tls"
	"net/http"
	"os/exec"
	"strconv"
	"time"
)

// The emulators' well-known account and keys, which are no secrets.
const (
	AzuriteAccount = "devstoreaccount1"
	AzuriteKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	CosmosKey      = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
)

// Azurite starts the blob service of npm's azurite. It serves http://ADDR/ACCOUNT
// and keeps its data over a restart.
func Azurite(t T, args ...string) *Server {
	t.Helper()
	return azurite(t, nil, args)
}

// AzuriteTLS starts azurite with TLS, where it also takes Entra ID tokens: any that
// is well-formed, for its signature is not looked at. It serves https://ADDR/ACCOUNT.
func AzuriteTLS(t T, c *Certificate, args ...string) *Server {
	t.Helper()
	return azurite(t, c.Client(), append([]string{"--oauth", "basic", "--cert", c.CertFile, "--key", c.KeyFile}, args...))
}

func azurite(t T, config *tls.Config, args []string) *Server {
	t.Helper()
	server, dir := emulator(t, "azurite-blob"), t.TempDir()
	return start(t, func(port int) *exec.Cmd {
		return exec.Command(server, append([]string{
			"--blobHost", "127.0.0.1", "--blobPort", strconv.Itoa(port), "--location", dir,
			"--skipApiVersionCheck", "--disableTelemetry", "--silent",
		}, args...)...)
	}, func(addr string) error { return getHTTP(addr, config) })
}

// AzuriteConnection is the connection string of an azurite without TLS.
func AzuriteConnection(addr string) string {
	return "DefaultEndpointsProtocol=http;AccountName=" + AzuriteAccount + ";AccountKey=" + AzuriteKey +
		";BlobEndpoint=http://" + addr + "/" + AzuriteAccount + ";"
}

// Cosmos starts npm's @vercel/cosmosdb-server, which serves http://ADDR and keeps
// its data in memory only. It ignores keys, TTL and the atomicity of batches. TLS
// stands in front of it where a client wants that.
func Cosmos(t T) *Server {
	t.Helper()
	server := emulator(t, "cosmosdb-server")
	return start(t, func(port int) *exec.Cmd {
		return exec.Command(server, "--host", "127.0.0.1", "--port", strconv.Itoa(port), "--no-ssl")
	}, func(addr string) error { return getHTTP(addr, nil) })
}

// CosmosConnection is the connection string of a Cosmos without TLS.
func CosmosConnection(addr string) string {
	return "AccountEndpoint=http://" + addr + "/;AccountKey=" + CosmosKey + ";"
}

// getHTTP is satisfied by any answer.
func getHTTP(addr string, config *tls.Config) error {
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	scheme := "http"
	if config != nil {
		scheme = "https"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+addr+"/", nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
