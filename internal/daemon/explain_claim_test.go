package daemon

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/explain"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// Who may use a binding ends as explained: by an answer, as one who is known, or not at all.
func TestExplainClaims(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.NewReplacer("pool: {", "pool: {reservation_timeout: 1m, quotas: {client_sessions: 2}, ", "to: 8080}",
		"to: 8080}, {name: dns.hosta.foo.example., protocol: udp, port: 53}").Replace(text))
	r.routed()
	lent := r.mustAsk(www)
	agrees := func(from netip.Addr, protocol model.Protocol, port uint16, want string) {
		t.Helper()
		r.agrees(explain.Flow{Direction: model.In, Protocol: protocol, Source: from, Destination: lent, Port: port}, want)
	}
	agrees(visitor(1, 0).Addr(), model.TCP, 80, "ban continue, binding continue, chain none, claim continue, pass")
	r.admits(remote, lent, 80)
	agrees(visitor(2, 0).Addr(), model.TCP, 80, "ban continue, binding continue, chain none, claim drop, drop drop_no_reservation")
	agrees(visitor(2, 0).Addr(), model.TCP, 81, "ban continue, binding drop, drop drop_no_binding")
	agrees(visitor(2, 0).Addr(), model.UDP, 80, "ban continue, binding drop, drop drop_no_binding")
	second := netip.AddrPortFrom(remote.Addr(), 4001)
	r.admits(second, lent, 80)
	agrees(remote.Addr(), model.TCP, 80, "session open, ban continue, binding continue, chain none, claim drop, drop drop_client_limit")
	_, err := r.data.EndSessions(func(s datapath.Session) bool { return s.Remote == second })
	r.must(err)
	agrees(remote.Addr(), model.TCP, 80, "session open, ban continue, binding continue, chain none, claim continue, pass")

	// By the name of another service of the host, which is at the same address.
	if address := r.mustAsk("dns.hosta.foo.example."); address != lent {
		t.Fatalf("the host's services have %s and %s", lent, address)
	}
	agrees(visitor(3, 0).Addr(), model.UDP, 53, "ban continue, binding continue, chain none, claim continue, pass")
	agrees(visitor(4, 0).Addr(), model.TCP, 80, "ban continue, binding continue, chain none, claim drop, drop drop_no_reservation")
}

// Where a binding has no room for unproved clients, a SYN is explained to be answered by a cookie, and what is asked then.
func TestExplainOverflow(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.Replace(text, "pool: {", "pool: {reservation_timeout: 1m, ", 1)+`capacity: 1024
protection: {blocklist: [192.0.2.0/24]}
chains:
  - {name: web, match: {service: www.hosta.foo.example.}, functions: [{use: filter, name: foes, deny: [203.0.113.128/25]}]}
`)
	r.routed()
	lent := r.mustAsk(www)
	const most = 256 // as large as rings are
	for n := uint16(0); r.send(true, packets.NewTCP(netip.AddrPortFrom(remote.Addr(), 5000+n), netip.AddrPortFrom(lent, 80), packets.SYN, "")) != model.ReasonAnsweredCookie; n++ {
		if n == most {
			t.Fatalf("%d SYNs, and none is answered by a cookie", most)
		}
	}
	explained := func(from string, want string) {
		t.Helper()
		f := explain.Flow{Direction: model.In, Protocol: model.TCP, Source: netip.MustParseAddr(from), Destination: lent, Port: 80}
		x, err := r.explain(api.ExplainRequest{Address: f.Source, ToAddress: f.Destination, Protocol: f.Protocol, Port: f.Port, Direction: f.Direction})
		if err != nil || said(x) != want {
			t.Errorf("from %s: %v\n got %s\nwant %s", from, err, said(x), want)
		}
		r.must(r.namespace.Do(func() error { _, _, err := r.explains().First(&f); return err }))
		sent := model.ReasonAnsweredCookie // whatever is asked when that comes back
		if !strings.Contains(want, "cookie answer") {
			sent = x.Reason
		}
		if end := r.send(true, f.Packet()); end != sent {
			t.Errorf("from %s: the SYN ended with %s, want %s", from, end, sent)
		}
	}
	const asked = "ban continue, binding continue, protection/allowlist continue, protection/blocklist "
	explained("203.0.113.70", asked+"continue, claim continue, cookie answer, chain web, web/foes continue, pass")
	explained("203.0.113.200", asked+"continue, claim continue, cookie answer, chain web, web/foes drop, drop drop_denied web/foes")
	explained("192.0.2.7", asked+"drop, drop drop_denied protection/blocklist")
}

// A host that has all that it may gets no more, as explained.
func TestExplainHostLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, text+"limits: {host_sessions: 2}\n")
	r.routed()
	hosta, foreign := netip.MustParseAddr("10.0.0.100"), netip.MustParseAddr("203.0.113.5")
	agrees := func(protocol model.Protocol, port uint16, want string) {
		t.Helper()
		r.agrees(explain.Flow{Direction: model.Out, Protocol: protocol, Source: hosta, Destination: foreign, Port: port}, want)
	}
	agrees(model.TCP, 80, "ban continue, chain none, nat translate, pass")
	agrees(model.UDP, 53, "ban continue, chain none, nat translate, pass")
	agrees(model.UDP, 54, "ban continue, chain none, limit drop, drop drop_host_sessions")
}

// Where little is left, a host gets no more than its part of that.
func TestExplainWhatIsLeft(t *testing.T) {
	t.Parallel()
	const most = (1024 - 64) / 8 * 7 // of the sessions that hosts inside may have
	r := newRig(t, text+"capacity: 1024\nlimits: {host_sessions: 2000, host_rate: 0}\n")
	r.routed()
	hosta, foreign := netip.MustParseAddr("10.0.0.100"), netip.MustParseAddr("203.0.113.5")
	for n := range uint16(most) {
		if end := r.send(false, packets.NewUDP(netip.AddrPortFrom(hosta, 5000), netip.AddrPortFrom(foreign, 1000+n), "")); end.IsDrop() {
			t.Fatalf("session %d: %s", n, end)
		}
	}
	r.agrees(explain.Flow{Direction: model.Out, Protocol: model.UDP, Source: hosta, Destination: foreign, Port: 54},
		"ban continue, chain none, limit drop, drop drop_host_sessions")
}
