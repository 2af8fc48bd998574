package daemon

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/explain"
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
		r.agrees(explain.Flow{Direction: model.In, Protocol: p, Source: remote, Destination: outbound}, "ban continue, session drop, drop drop_no_session")
		r.agrees(explain.Flow{Direction: model.Out, Protocol: p, Source: hosta, Destination: remote}, out+"nat translate, pass")
		r.agrees(explain.Flow{Direction: model.Out, Protocol: p, Source: hosta, Destination: remote}, "session open, pass")
		r.agrees(explain.Flow{Direction: model.In, Protocol: p, Source: remote, Destination: outbound}, "session open, pass")
		r.agrees(explain.Flow{Direction: model.Out, Protocol: p, Source: hostb, Destination: remote}, out+"nat drop, drop drop_session_conflict")
		r.agrees(explain.Flow{Direction: model.Out, Protocol: p, Source: hosta, Destination: address("10.0.0.1")}, "address gateway, pass to_gateway")
	}
}
