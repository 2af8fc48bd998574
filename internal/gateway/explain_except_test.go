package gateway

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// Destinations without NAT, and who comes from there.
func TestExplainExcepted(t *testing.T) {
	r := newRig(t, text+"outbound: {addresses: [198.18.0.2], except: [203.0.113.0/26]}\nlimits: {host_ports: {udp: 1}}\n")
	r.routed()
	address := netip.MustParseAddr
	hosta, far, other := address("10.0.0.100"), address("203.0.113.5"), address("203.0.113.70")
	const leaves, stays = "ban continue, chain none, nat continue, pass", "ban continue, chain none, nat translate, pass"
	for _, c := range []struct {
		direction model.Direction
		from, to  netip.Addr
		port      uint16
		want      string
	}{
		{model.Out, hosta, other, 53, stays},
		{model.Out, hosta, far, 53, leaves},
		{model.Out, hosta, far, 54, leaves}, // it takes none of the host's ports
		{model.In, far, hosta, 54, "address drop, drop drop_not_for_us"},
		{model.In, other, hosta, 54, "address drop, drop drop_not_for_us"},
	} {
		r.agrees(flow{direction: c.direction, protocol: model.UDP, source: c.from, destination: c.to, port: c.port}, c.want)
	}
}
