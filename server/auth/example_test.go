package auth_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/leasehold/leasehold/server/auth"
)

func ExampleNew() {
	dir, err := os.MkdirTemp("", "auth")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tokens")
	secret, err := auth.CreateToken(path, auth.TokenSpec{
		Name: "ci", Roles: []auth.Role{auth.RoleHolder}, Resources: []string{"deploy:*"},
	})
	if err != nil {
		panic(err)
	}
	guard, err := auth.New(&auth.Options{TokenFile: path, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	defer guard.Close()

	handler := guard.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		caller := auth.From(r.Context())
		fmt.Println(caller.Name, caller.MayAct("anybody", "deploy:prod"), caller.MayAct("anybody", "billing"))
	}))
	r := httptest.NewRequest("POST", "/v1/leases/acquire", nil)
	r.Header.Set("Authorization", "Bearer "+secret)
	handler.ServeHTTP(httptest.NewRecorder(), r)
	// Output: ci true false
}
