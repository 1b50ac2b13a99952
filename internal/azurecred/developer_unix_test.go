//go:build unix

package azurecred_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/leasehold/leasehold/internal/azurecred"
)

// az prints a token as Azure's command does, a new one at each call.
const az = `#!/bin/sh
n=$(cat "$AZ_COUNT" 2>/dev/null || echo 0)
echo $((n + 1)) > "$AZ_COUNT"
printf '{"accessToken":"token-%s","expiresOn":"2099-01-01 00:00:00.000000","expires_on":4070908800}' "$n"
`

func TestDeveloperIsAskedThroughTheirTools(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "az"), []byte(az), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("AZ_COUNT", filepath.Join(dir, "count"))
	credential, err := azurecred.New(azurecred.Config{Method: azurecred.Developer})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"token-0", "token-1"} {
		if got := token(t, credential, newScope()); got != want {
			t.Errorf("GetToken = %q, want %q", got, want)
		}
	}
}

func TestDeveloperWithoutTools(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	credential, err := azurecred.New(azurecred.Config{Method: azurecred.Developer})
	if err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	if _, err := credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{newScope()}}); err == nil {
		t.Error("GetToken = nil, want an error")
	}
	if took := time.Since(from); took > 5*time.Second {
		t.Errorf("GetToken took %v, want less than 5s", took)
	}
}
