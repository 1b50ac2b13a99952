package leasehold

import (
	"os"
	"strings"
	"testing"
)

func TestDefaultMetadata(t *testing.T) {
	t.Setenv("POD_NAME", "worker-7")
	t.Setenv("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	m := DefaultMetadata()
	host, _ := os.Hostname()
	for key, want := range map[string]string{"host": host, "pod": "worker-7", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"} {
		if m[key] != want {
			t.Errorf("DefaultMetadata()[%q] = %q, want %q", key, m[key], want)
		}
	}
	if err := CheckMetadata(m); err != nil {
		t.Errorf("DefaultMetadata() = %v, which is refused: %v", m, err)
	}
	m["more"] = "yes"
	if _, shared := DefaultMetadata()["more"]; shared {
		t.Error("DefaultMetadata() returns a shared map, want one of the caller's own")
	}
}

func TestDefaultMetadataLeavesOutWhatIsStrange(t *testing.T) {
	t.Setenv("POD_NAME", strings.Repeat("x", MaxMetadataValue+1))
	for _, parent := range []string{
		"", "rubbish", "00-short-00f067aa0ba902b7-01",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01",
	} {
		t.Setenv("TRACEPARENT", parent)
		m := DefaultMetadata()
		if _, pod := m["pod"]; pod {
			t.Errorf("DefaultMetadata() has a pod of %d bytes", len(m["pod"]))
		}
		if id, traced := m["trace_id"]; traced {
			t.Errorf("TRACEPARENT=%q gives trace_id %q, want none", parent, id)
		}
	}
}
