package daemon

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// The status names a host that has all that it may, with what it has, when it has been refused more.
func TestStatusNamesWhoTakes(t *testing.T) {
	t.Parallel()
	r := newRig(t, text+"limits: {host_sessions: 1}\n")
	r.routed()
	named := func() bool {
		s, err := r.Status()
		r.must(err)
		all := strings.Join(s.Warnings, "\n")
		return strings.Contains(all, "host 10.0.0.100 is among those inside that have most: 1 sessions, and ports: udp 0, tcp 1, icmp 0") &&
			strings.Contains(all, "realmgate sessions end --address 10.0.0.100")
	}
	syn := packets.NewTCP(netip.MustParseAddrPort("10.0.0.100:5000"), netip.MustParseAddrPort("203.0.113.5:80"), packets.SYN, "")
	if end := r.send(false, syn); end.IsDrop() || named() {
		t.Errorf("with one session that ended with %s it is named: %t", end, named())
	}
	syn.TCP.Source++
	if end := r.send(false, syn); end != "drop_host_sessions" || !named() {
		t.Errorf("with another that ended with %s it is named: %t", end, named())
	}
}
