package testserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/test/process"
)

// etcd calls etcd's JSON gateway.
func etcd(addr, call, body string) (answer map[string]any, err error) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post("http://"+addr+"/v3/"+call, "application/json", bytes.NewBufferString(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("etcd: %s", resp.Status)
	}
	return answer, json.NewDecoder(resp.Body).Decode(&answer)
}

const putKV, getKV = `{"key":"aw==","value":"dg=="}`, `{"key":"aw=="}`

func TestEtcdKeepsItsDataOverARestart(t *testing.T) {
	s := testserver.Etcd(t)
	if _, err := etcd(s.Addr, "kv/put", putKV); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	if got, err := etcd(s.Addr, "kv/range", getKV); err != nil || got["count"] != "1" {
		t.Errorf("range after a restart = %v, %v; want the key", got, err)
	}
}

func TestEtcdWithTLS(t *testing.T) {
	s := testserver.EtcdTLS(t, testserver.NewCertificate(t))
	if got, err := etcd(s.Addr, "kv/range", getKV); err == nil {
		t.Errorf("range without TLS = %v, want an error", got)
	}
}

// Two of three members still answer; a member that was stopped catches up.
func TestEtcdCluster(t *testing.T) {
	members := testserver.EtcdCluster(t)
	members[0].Kill()
	var err error
	for range 100 { // until there is a leader again
		if _, err = etcd(members[1].Addr, "kv/put", putKV); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond) // polls a real server
	}
	if err != nil {
		t.Fatalf("put with two of three = %v", err)
	}
	members[0].Start()
	members[2].Pause()
	if got, err := etcd(members[2].Addr, "kv/range", getKV); err == nil {
		t.Errorf("range on a stopped member = %v, want none", got)
	}
	members[2].Resume()
	for range 100 {
		if got, err := etcd(members[2].Addr, "kv/range", getKV); err == nil && got["count"] == "1" {
			return
		}
		time.Sleep(100 * time.Millisecond) // polls a real server
	}
	t.Error("the member that went on does not know the key")
}

// A member that is cut off from the others answers nobody; the others go on, and when it
// is back it catches up.
func TestEtcdPeers(t *testing.T) {
	members, peers := testserver.EtcdPeers(t)
	peers.CutOff(0)
	process.Eventually(t, "the others go on", func() bool { _, err := etcd(members[1].Addr, "kv/put", putKV); return err == nil })
	if got, err := etcd(members[0].Addr, "kv/put", putKV); err == nil {
		t.Errorf("put at a member that is cut off = %v, want an error", got)
	}
	peers.Heal()
	process.Eventually(t, "it is back", func() bool { _, err := etcd(members[0].Addr, "kv/put", putKV); return err == nil })
}
