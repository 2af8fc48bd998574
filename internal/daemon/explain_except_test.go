package daemon

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/explain"
	"github.com/realmgate/realmgate/internal/model"
)

// Destinations without NAT, and who comes from there.
func TestExplainExcepted(t *testing.T) {
	t.Parallel()
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
		r.agrees(explain.Flow{Direction: c.direction, Protocol: model.UDP, Source: c.from, Destination: c.to, Port: c.port}, c.want)
	}
}

// A host with a public address alone, on its way out and from outside.
func TestExplainOneToOne(t *testing.T) {
	t.Parallel()
	more := strings.Replace(text, "address: 10.0.0.100\n", "address: 10.0.0.100\n    one_to_one: 198.18.0.7\n", 1)
	r := newRig(t, more+"outbound: {addresses: [198.18.0.2]}\nlimits: {host_ports: {udp: 1}}\n")
	r.routed()
	address := netip.MustParseAddr
	hosta, hostb, alone, far := address("10.0.0.100"), address("10.0.0.101"), address("198.18.0.7"), address("203.0.113.5")
	for _, c := range []struct {
		direction model.Direction
		from, to  netip.Addr
		port      uint16
		want      string
	}{
		{model.Out, hosta, far, 53, "ban continue, chain none, nat translate, pass"},
		{model.Out, hosta, far, 54, "ban continue, chain none, nat translate, pass"}, // it takes no ports
		{model.In, far, alone, 22, "host continue, ban continue, chain none, pass"},
		{model.In, hosta, alone, 22, "host continue, ban continue, address drop, drop drop_spoofed_source"},
		{model.Out, hostb, alone, 23, "ban continue, chain none, hairpin continue, host continue, chain none, pass"},
	} {
		r.agrees(explain.Flow{Direction: c.direction, Protocol: model.UDP, Source: c.from, Destination: c.to, Port: c.port}, c.want)
	}
}

// A host that calls its own public address is asked about twice. The first question takes what the second one wants.
func TestExplainOwnAddress(t *testing.T) {
	t.Parallel()
	more := strings.Replace(text, "address: 10.0.0.100\n", "address: 10.0.0.100\n    one_to_one: 198.18.0.7\n", 1)
	r := newRig(t, more+`chains:
  - {name: all, functions: [{use: rate-limit, name: few, new: 1/h, burst: 3600s, per: host}, {use: rate-limit, name: more, new: 3/h, burst: 3600s, per: host}]}
`)
	r.routed()
	address := netip.MustParseAddr
	alone, far := address("198.18.0.7"), address("203.0.113.5")
	for _, c := range []struct {
		from, to netip.Addr
		want     string
	}{
		{address("10.0.0.100"), alone, "ban continue, chain all, all/few continue, all/more continue, hairpin continue, host continue, chain all, all/few drop, drop drop_denied all/few"},
		{address("10.0.0.101"), far, "ban continue, chain all, all/few continue, all/more continue, nat translate, pass"},
	} {
		r.agrees(explain.Flow{Direction: model.Out, Protocol: model.UDP, Source: c.from, Destination: c.to, Port: 53}, c.want)
	}
}
