//go:build unix

package azuretest

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/azure/sign"
)

// With a token file, the tokens of the JSON API decide who may read and write.
func TestPlainAPIFollowsTokens(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	tokens := filepath.Join(t.TempDir(), "tokens")
	secret := func(args ...string) string {
		t.Helper()
		code, out, errs := run(t, append(append([]string{"token", "new"}, args...), "--token-file", tokens)...)
		if code != 0 {
			t.Fatalf("token new %q = %d %s", args, code, errs)
		}
		return strings.TrimSpace(out)
	}
	reader := secret("r", "--role", "reader")
	writer := secret("k", "--role", "reader,holder")
	narrow := secret("n", "--role", "holder", "--holders", holder, "--resources", "blob:"+account+"/zure/mine*")
	stranger := secret("s", "--role", "holder", "--holders", "ci:*")
	accounts := filepath.Join(t.TempDir(), "accounts") // with tokens, only named accounts are served
	line := account + ":" + base64.StdEncoding.EncodeToString(sign.Development().Keys[0])
	if err := os.WriteFile(accounts, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	s.flags = append(s.flags, "--token-file", tokens, "--blob-accounts", accounts)
	s.start()
	s.container("zure") // the Azure Blob API has its own keys

	anonymous := s.raw()
	path := anonymous.as(t, writer).put("a", "kept")
	anonymous.send("GET", path, "").want(http.StatusUnauthorized, "")
	anonymous.send("PUT", path, "x", "X-Ms-Blob-Type", "BlockBlob").want(http.StatusUnauthorized, "")
	anonymous.as(t, "no such secret").send("GET", path, "").want(http.StatusUnauthorized, "")
	anonymous.as(t, reader).send("GET", path, "").wantBody("kept")
	for name, secret := range map[string]string{"reader": reader, "narrow": narrow, "stranger": stranger} {
		caller := anonymous.as(t, secret)
		caller.send("PUT", path, name, "X-Ms-Blob-Type", "BlockBlob").want(http.StatusForbidden, "AuthorizationFailure")
		caller.send("DELETE", path, "").want(http.StatusForbidden, "AuthorizationFailure")
		caller.lease(path, "acquire", "Duration", "15").want(http.StatusForbidden, "AuthorizationFailure")
	}
	anonymous.as(t, narrow).put("mine/1", "")
	anonymous.as(t, narrow).send("GET", plainPath+"/mine/1", "").want(http.StatusForbidden, "AuthorizationFailure")
	anonymous.as(t, writer).send("GET", path, "").wantBody("kept")
}
