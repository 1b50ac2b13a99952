package auth

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// verifyHidden fails if the text has the secret, whole, in part or recoded.
func verifyHidden(t *testing.T, what, text, secret string) {
	t.Helper()
	bare := strings.TrimPrefix(secret, secretPrefix)
	raw, err := base64.RawURLEncoding.DecodeString(bare)
	if err != nil {
		t.Fatalf("a secret is not base64: %v", err)
	}
	for form, leak := range map[string]string{
		"whole": secret, "without its prefix": bare, "its beginning": bare[:12], "its end": bare[31:],
		"in hex": hex.EncodeToString(raw), "as bytes": string(raw), "in other base64": base64.StdEncoding.EncodeToString(raw)[:20],
		"as text in base64": base64.StdEncoding.EncodeToString([]byte(secret))[:20],
	} {
		if strings.Contains(text, leak) {
			t.Errorf("%s has a secret, %s", what, form)
		}
	}
}

// TestNoSecretIsPrinted uses tokens in right and wrong ways, then greps all that
// was written: files, log, answers and errors.
func TestNoSecretIsPrinted(t *testing.T) {
	path := tokenPath(t)
	written := map[string]string{}
	good := mustCreate(t, path, TokenSpec{Name: "good", Roles: reader})
	bad := newSecret()
	g, log := newGuard(t, Options{TokenFile: path, Rate: 1, Burst: 2})
	for _, secret := range []string{good, bad} {
		for i, headers := range [][]string{
			{bearerHeader(secret)}, {bearerHeader(secret)}, {bearerHeader(secret)}, // the third is over the rate
			{"Authorization: " + secret}, {"Authorization: Basic " + secret}, {bearerHeader(secret), bearerHeader(secret)}, {bearerHeader(secret + "x")},
			{bearerHeader(secret), "Origin: http://" + secret}, {"Host: " + secret}, {"Cookie: " + secret},
		} {
			w := httptest.NewRecorder()
			g.Wrap(whoami).ServeHTTP(w, request("POST", "/"+secret+"?token="+secret, headers...))
			written[fmt.Sprint("answer ", i)] += fmt.Sprint(w.Header()) + w.Body.String()
		}
	}
	r := request("GET", "/"+good, "X-Request-Id: "+good)
	g.Wrap(whoami).ServeHTTP(httptest.NewRecorder(), r) // the answer repeats the caller's own id; the log must not

	tokens, err := ListTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, _ := json.Marshal(tokens)
	written["the list"] = fmt.Sprintf("%+v %s", tokens, asJSON)
	_, err = CreateToken(path, TokenSpec{Name: good, Roles: []Role{Role(good)}})
	written["an error of CreateToken"] = fmt.Sprint(err)
	_, err = CreateToken(path, TokenSpec{Name: "x", Roles: []Role{Role(good)}})
	written["another error of CreateToken"] = fmt.Sprint(err)
	if err := RevokeToken(path, "good"); err != nil {
		t.Fatal(err)
	}
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, `{"name":"x","roles":["reader"],"hash":"`+good+`"}`)
	written["an error of Reload"] = fmt.Sprint(g.Reload())
	g.loading.Lock()
	g.watched.info = nil
	g.loading.Unlock()
	g.check()
	if !strings.Contains(log.String(), "cannot be used") || !strings.Contains(log.String(), "rate_limited") {
		t.Fatalf("the log is too short to prove anything:\n%s", log)
	}
	written["the log"] = log.String()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, path, TokenSpec{Name: "again", Roles: reader})
	written["the files"] = filesOf(t, filepath.Dir(path))
	for what, text := range written {
		verifyHidden(t, what, text, good)
		verifyHidden(t, what, text, bad)
	}
}

func TestFileHasNoSecret(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "a", Roles: reader})
	text := filesOf(t, filepath.Dir(path))
	verifyHidden(t, "the directory", text, secret)
	if !strings.Contains(text, hashText(hashOf(secret))) {
		t.Error("the file lacks the hash")
	}
}

func filesOf(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(e.Name())
		all.Write(data)
	}
	return all.String()
}
