package health_test

import (
	"context"
	"fmt"

	"github.com/leasehold/leasehold/health"
	"github.com/leasehold/leasehold/store/memory"
)

func ExampleCheck() {
	store := memory.New()
	defer store.Close()

	report := health.Check(context.Background(), store, &health.Options{Store: "memory"})
	fmt.Println(report.Status, report.Store, report.Reason)
	// Output: healthy memory
}
