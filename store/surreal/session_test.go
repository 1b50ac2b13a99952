package surreal

import (
	"fmt"
	"testing"
	"time"

	"github.com/leasehold/leasehold/internal/testserver"
)

// A session that the server ends after a while is made again.
func TestSessionExpires(t *testing.T) {
	server := testserver.Surreal(t, "--user", "root", "--pass", secret)
	root(t, server.Addr, fmt.Sprintf("DEFINE USER short ON ROOT PASSWORD %q ROLES OWNER DURATION FOR SESSION 1s, FOR TOKEN 1s", secret))
	s := openOn(t, server.Addr, Options{Username: "short", Password: secret})
	for i := range 4 {
		acquire(t, s, fmt.Sprint("r", i), "h", time.Minute)
		time.Sleep(1200 * time.Millisecond)
	}
}
