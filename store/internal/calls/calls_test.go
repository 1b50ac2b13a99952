package calls_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/calls"
)

func wantReason(t *testing.T, what string, err error, want leasehold.Reason) {
	t.Helper()
	var e *leasehold.Error
	if !errors.As(err, &e) || e.Reason != want || e.Op != "op" || e.Resource != "r" || e.Store != "test" {
		t.Errorf("%s = %+v, want %s of op on r in test", what, err, want)
	}
}

// A store that closes waits for the calls under way and refuses others.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := calls.New("test")
		if err := c.Start("op", "r"); err != nil {
			t.Fatal(err)
		}
		if !c.Close() {
			t.Error("the first Close says that it is another")
		}
		waited := make(chan struct{})
		go func() { c.Wait(); close(waited) }()
		synctest.Wait()
		select {
		case <-waited:
			t.Error("Wait did not wait for a call")
		default:
		}
		c.Done()
		<-waited
		if c.Close() {
			t.Error("the second Close says that it is the first")
		}
		err := c.Start("op", "r")
		wantReason(t, "Start", err, leasehold.ReasonUnavailable)
		if err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("Start = %v, want that the store is closed", err)
		}
		_, err = calls.Run(t.Context(), c, calls.Write[int]{Op: "op", Resource: "r"})
		wantReason(t, "Run", err, leasehold.ReasonUnavailable)
		c.Go(func(context.Context) { t.Error("work was started in a closed store") })
		c.Wait()
	})
}

// Work in the background ends with Stop, calls do not.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := calls.New("test")
		ended := false
		c.Go(func(ctx context.Context) { <-ctx.Done(); ended = true })
		c.Stop()
		synctest.Wait()
		if !ended {
			t.Error("work goes on after Stop")
		}
		if err := c.Start("op", "r"); err != nil {
			t.Errorf("Start after Stop = %v, want success", err)
		}
		c.Done()
		c.Close()
		c.Wait()
	})
}

func TestRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := calls.New("test")
		n := 0
		c.Repeat(func(context.Context) { n++ })
		time.Sleep(time.Minute)
		synctest.Wait()
		if n < 40 || n > 121 {
			t.Errorf("it ran %d times in a minute, want a pause of half a second to one and a half", n)
		}
		c.Close()
		c.Wait()
	})
}
