package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/leasehold/leasehold/server/api"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
)

// The API needs a guard in front, which says who calls; here everybody may do
// everything.
func ExampleNew() {
	store := memory.New()
	defer store.Close()
	handler := api.New(store, nil).Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Local)))
	}))
	defer server.Close()

	for _, holder := range []string{"ci:42", "ci:43"} {
		body := strings.NewReader(`{"resource":"deploy:prod","holder":"` + holder + `","ttl_seconds":60}`)
		answer, err := http.Post(server.URL+"/v1/leases/acquire", "application/json", body)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(holder, answer.Status)
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	// Output:
	// ci:42 201 Created
	// ci:43 409 Conflict
}
