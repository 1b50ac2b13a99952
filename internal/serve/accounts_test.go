//go:build unix

package serve

import (
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/server/auth"
)

// get returns the status and the text of an answer.
func (s *testServer) get(url string, headers ...string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r.Host = r.Header.Get("Host")
	answer, err := s.client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// With tokens the public key opens nothing, unless its account is named. The main
// port goes on as the tokens say.
func TestTokensCloseTheDevelopmentAccount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens, accounts := filepath.Join(dir, "tokens"), filepath.Join(dir, "accounts")
	secret, err := auth.CreateToken(tokens, auth.TokenSpec{Name: "all", Roles: auth.Local.Roles})
	if err != nil {
		t.Fatal(err)
	}
	dev := sign.Development()
	line := dev.Name + ":" + base64.StdEncoding.EncodeToString(dev.Keys[0]) + "\n"
	if err := os.WriteFile(accounts, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, tokens, accounts string
		signed                 int
	}{
		{"tokens alone", tokens, "", 403},
		{"tokens and the account by name", tokens, accounts, 200},
		{"no tokens", "", "", 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Defaults()
			o.TokenFile, o.BlobAccounts = tt.tokens, tt.accounts
			s := start(t, o, false)
			status, text := s.get(s.url(s.blob) + "/" + dev.Name + "/" + s.signature() + "&comp=list")
			if status != tt.signed || status == 403 && !strings.Contains(text, "--blob-accounts") {
				t.Errorf("a list signed with the published key = %d %s, want %d", status, text, tt.signed)
			}
			if (s.connection != "") != (tt.signed == 200) {
				t.Errorf("the connection string is %q, though it works: %v", s.connection, tt.signed == 200)
			}
			status, text = s.get(s.url(s.json)+"/blob/"+dev.Name+"/?comp=list", "Authorization", "Bearer "+secret)
			if status != http.StatusOK {
				t.Errorf("the same list with a token on the main port = %d %s, want 200", status, text)
			}
			if status, text = s.get(s.url(s.json) + "/blob/" + dev.Name + "/?comp=list"); (status == http.StatusOK) != (tt.tokens == "") {
				t.Errorf("the same list without a token on the main port = %d %s", status, text)
			}
		})
	}
}

// Only a listener beyond this machine is insecure. The other one answers to its own
// names only.
func TestInsecureKeepsTheHostCheckOfTheOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	accounts := filepath.Join(dir, "accounts")
	dev := sign.Development()
	if err := os.WriteFile(accounts, []byte("other:"+base64.StdEncoding.EncodeToString(dev.Keys[0])+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"", accounts} { // whatever the account's name: the key is known
		o := Defaults()
		o.Insecure, o.BlobAccounts = true, file
		s := start(t, o, false)
		for _, url := range []string{s.url(s.blob) + "/devstoreaccount1/?comp=list", s.url(s.json) + "/v1/leases"} {
			if status, text := s.get(url, "Host", "evil.example"); status != http.StatusForbidden || !strings.Contains(text, "is no name of this") {
				t.Errorf("GET %s for evil.example = %d %s, want 403 for the name", url, status, text)
			}
		}
	}
	o := Options{Insecure: true, Listen: "127.0.0.1:8105", BlobListen: "0.0.0.0:10000"}
	if hosts := o.blobHosts([]sign.Account{dev}); hosts != nil {
		t.Errorf("blobHosts() beyond this machine = %q, want any name", hosts)
	}
}
