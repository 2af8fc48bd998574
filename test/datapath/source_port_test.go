package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
)

// Rules may ask for the port that a flow's first packet comes from: of a chain's match and of a filter, in both
// directions, of TCP and UDP. What has no ports is of no such rule.
func TestSourcePorts(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	low, some := model.Ports{First: 1, Last: 1023}, model.Ports{First: 2000, Last: 2001}
	g.chained([]nf.Rule{{Direction: model.Out, SourcePorts: low, Value: 0}, {Direction: model.In, Protocol: model.TCP, SourcePorts: low, Value: 0}, {Value: 1}},
		deny(1, nf.Rule{}), deny(2, nf.Rule{SourcePorts: some}))
	host := inA.Addr()
	for port, passes := range map[uint16]bool{1: false, 1023: false, 1024: true, 1999: true, 2000: false, 2001: false, 2002: true, 65535: true} {
		from := netip.AddrPortFrom(host, port)
		if passes {
			g.mapped(udp(from, server))
			continue
		}
		g.denied(udp(from, server))
	}
	g.denied(tcp(netip.AddrPortFrom(host, 80), server, packets.SYN))
	g.mapped(tcp(netip.AddrPortFrom(host, 8080), server, packets.SYN))
	g.forwarded(g.put(echo(host, remote, 80)))
	g.lend(pool1, 80, service, nil)
	g.dropped(g.put(tcp(endpoint(remote, 1023), lent, packets.SYN)), "drop_denied")
	g.dropped(g.put(tcp(endpoint(remote, 2001), lent, packets.SYN)), "drop_denied")
	g.established(endpoint(remote, 1024), lent, service)
}
