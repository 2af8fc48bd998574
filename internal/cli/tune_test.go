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
		"netfilter  252.1 MiB: 256 bytes a session          374.2 MiB: 384 bytes a session\n",
		"realmgate  102.1 MiB: 1 outbound address           138.5 MiB: 16 outbound addresses\n",
		"8.0 MiB of it, for 1,048,576 buckets", "whole slabs of the allocator: 375.5 MiB in all",
		"16 outbound addresses have a port for each session", "exist only once the module is loaded.\n  nf_conntrack\n",
		"  capacity: 1071428\n",
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
			Bytes    int64 `json:"most_bytes"`
		} `json:"netfilter"`
		Realmgate struct {
			Capacity int   `json:"capacity"`
			Bytes    int64 `json:"most_bytes"`
		} `json:"realmgate"`
		Available int64 `json:"available_bytes"`
		Here      int   `json:"realmgate_sessions_here"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Netfilter.HashSize != 1<<26 || got.Netfilter.Bytes != 384*40_000_000+8*(1<<26) ||
		got.Realmgate.Capacity != 42_857_142 || got.Realmgate.Bytes > 4<<30 || got.Available <= 0 {
		t.Errorf("%+v", got)
	}
	if fits := got.Realmgate.Bytes <= got.Available; fits != (got.Here == 40_000_000) {
		t.Errorf("%d of the sessions fit here: %+v", got.Here, got)
	}
}

// Few sessions do not make the kernel's own settings smaller without a word, and
// many have no port each.
func TestTuneExtremes(t *testing.T) {
	for sessions, want := range map[string]string{
		"1":        "The kernel chooses 262144 for both on a machine with more than 4 GiB of memory",
		"64000000": "It takes 64 outbound addresses at most, with fewer ports than sessions",
	} {
		if r := execute(t.Context(), "tune", "--sessions", sessions); r.code != exitOK || !strings.Contains(r.stdout, want) {
			t.Errorf("%s sessions: exit %d, it lacks %q:\n%s", sessions, r.code, want, r.stdout)
		}
	}
}
