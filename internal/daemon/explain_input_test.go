package daemon

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/explain"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// What comes to a port of the honeypot, or to the gateway itself, ends as explained: the
// protection is asked in its order wherever a flow may go.
func TestExplainAgreesAboutInput(t *testing.T) {
	t.Parallel()
	r := newRig(t, text+`  - {name: hostb.foo.example., address: 10.0.0.101}
outbound: {addresses: [198.18.0.2], filtering: endpoint-independent}
chains:
  - {name: whole, match: {direction: in, to: 198.18.0.3}, functions: [{use: dnat, to: 10.0.0.101}]}
protection:
  allowlist: [203.0.113.1]
  blocklist: [203.0.113.0/30, {remote: 203.0.113.8, direction: out}]
  ignored_ports: {tcp: [443]}
  honeypot: {tcp: [23, 2000-3000], udp: [1900, 7000]}
`)
	r.routed()
	address := netip.MustParseAddr
	hostb, outbound, us, sent, pool := address("10.0.0.101"), address("198.18.0.2"), address("198.18.0.1"), address("198.18.0.3"), address("198.18.0.40")
	if end := r.send(false, packets.NewUDP(netip.AddrPortFrom(hostb, 7000), netip.MustParseAddrPort("203.0.113.5:53"), "")); end.IsDrop() {
		t.Fatal(end)
	}
	const (
		asked  = "protection/allowlist continue, protection/blocklist continue, protection/ports continue, protection/honeypot "
		sprung = asked + "drop, drop answered_honeypot protection/honeypot"
	)
	for _, c := range []struct {
		from     string
		to       netip.Addr
		protocol model.Protocol
		port     uint16
		want     string
	}{
		{"203.0.113.5", us, model.TCP, 23, "ban continue, " + sprung},
		{"203.0.113.5", us, model.UDP, 1900, "ban continue, " + asked + "drop, drop drop_honeypot protection/honeypot"},
		{"203.0.113.5", us, model.TCP, 22, "ban continue, " + asked + "continue, address gateway, pass to_gateway"},
		{"203.0.113.1", us, model.TCP, 23, "ban continue, " + asked + "continue, address gateway, pass to_gateway"},
		{"203.0.113.2", us, model.TCP, 23, "ban continue, protection/allowlist continue, protection/blocklist drop, drop drop_denied protection/blocklist"},
		{"203.0.113.5", pool, model.TCP, 23, "ban continue, " + sprung},
		{"203.0.113.5", pool, model.TCP, 22, "ban continue, " + asked + "continue, binding drop, drop drop_no_binding"},
		{"203.0.113.5", outbound, model.TCP, 2500, "ban continue, " + sprung},
		{"203.0.113.5", outbound, model.TCP, 443, "ban continue, " + asked + "continue, mapping drop, drop drop_no_mapping"},
		{"203.0.113.5", sent, model.TCP, 23, "ban continue, " + sprung},
		{"203.0.113.5", sent, model.TCP, 22, "ban continue, " + asked + "continue, chain whole, whole/dnat continue, dnat translate, pass"},
		{"10.0.0.7", us, model.TCP, 22, "ban continue, address drop, drop drop_spoofed_source"},
		{"10.0.0.7", outbound, model.TCP, 23, "ban continue, address drop, drop drop_spoofed_source"},
		// A host inside has opened it.
		{"203.0.113.6", outbound, model.UDP, 7000, "mapping continue, ban continue, filtering continue, " + asked + "continue, chain none, pass"},
	} {
		r.agrees(explain.Flow{Direction: model.In, Protocol: c.protocol, Source: address(c.from), Destination: c.to, Port: c.port}, c.want)
	}
}
