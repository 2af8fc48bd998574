package model

import (
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	names := []string{"status", "tcp", "udp", "nftables", "iptables"}
	for word, want := range map[string]string{
		"stauts": "status", "STATUS": "status", "st": "status", "nftable": "nftables", "tables": "nftables iptables",
		"tc": "tcp", "tdp": "tcp udp", "xyp": "", "": "", "s" + strings.Repeat("t", 50): "",
	} {
		if got := strings.Join(Near(word, names), " "); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
