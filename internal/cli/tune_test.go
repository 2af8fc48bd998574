package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTune(t *testing.T) {
	r := execute(t.Context(), "tune", "--sessions", "1000000")
	for _, line := range []string{
		"1,000,000 sessions at a time.",
		"options nf_conntrack hashsize=1048576\n",
		"net.netfilter.nf_conntrack_max = 1048576\n",
		"net.netfilter.nf_conntrack_tcp_timeout_established = 7440\n",
		"memory   374.2 MiB: 366.2 MiB of connections (384 bytes each",
		"8.0 MiB of buckets (8 bytes each); 375.5 MiB by the figures of Lencse and Shima",
		"  capacity: 1050000\n",
	} {
		if !strings.Contains(r.stdout, line) {
			t.Errorf("it lacks %q", line)
		}
	}
	if r.code != exitOK || r.stderr != "" || t.Failed() {
		t.Errorf("exit %d, %s\n%s", r.code, r.stderr, r.stdout)
	}
}

func TestTuneJSON(t *testing.T) {
	r := execute(t.Context(), "tune", "--sessions", "40000000", "-o", "json")
	var got struct {
		Netfilter struct {
			HashSize int   `json:"hashsize"`
			Bytes    int64 `json:"bytes"`
		} `json:"netfilter"`
		Realmgate struct {
			Capacity int   `json:"capacity"`
			Bytes    int64 `json:"bytes"`
		} `json:"realmgate"`
		Available int64 `json:"available_bytes"`
		Here      int   `json:"realmgate_sessions_here"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Netfilter.HashSize != 1<<26 || got.Netfilter.Bytes != 384*40_000_000+8*(1<<26) ||
		got.Realmgate.Capacity != 42_000_000 || got.Realmgate.Bytes > 4<<30 || got.Available <= 0 {
		t.Errorf("%+v", got)
	}
	if fits := got.Realmgate.Bytes <= got.Available; fits != (got.Here == 40_000_000) {
		t.Errorf("%d of the sessions fit here: %+v", got.Here, got)
	}
}
