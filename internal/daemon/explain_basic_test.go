package daemon

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// Protocols that are translated by address alone are explained as they then end.
func TestExplainByAddress(t *testing.T) {
	t.Parallel()
	r := newExplained(t)
	r.routed()
	address := netip.MustParseAddr
	hosta, hostb, outbound, remote := address("10.0.0.100"), address("10.0.0.101"), address("198.18.0.2"), address("203.0.113.5")
	out := "ban continue, chain out, out/no-smtp continue, "
	for _, p := range []model.Protocol{model.ESP, model.UDPLite} {
		r.agrees(flow{direction: model.In, protocol: p, source: remote, destination: outbound}, "ban continue, session drop, drop drop_no_session")
		r.agrees(flow{direction: model.Out, protocol: p, source: hosta, destination: remote}, out+"nat translate, pass")
		r.agrees(flow{direction: model.Out, protocol: p, source: hosta, destination: remote}, "session open, pass")
		r.agrees(flow{direction: model.In, protocol: p, source: remote, destination: outbound}, "session open, pass")
		r.agrees(flow{direction: model.Out, protocol: p, source: hostb, destination: remote}, out+"nat drop, drop drop_session_conflict")
		r.agrees(flow{direction: model.Out, protocol: p, source: hosta, destination: address("10.0.0.1")}, "address gateway, pass to_gateway")
	}
}
