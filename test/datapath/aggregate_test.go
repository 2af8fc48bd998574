package datapath

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/meter"
	"github.com/realmgate/realmgate/internal/nf/ratelimit"
	"github.com/realmgate/realmgate/test/dataplane"
)

// aggregate is a TCP packet that is to be cut on the wire into segments of size octets.
func (g *gateway) aggregate(segments, size int) (packets.Packet, result) {
	g.t.Helper()
	return g.aggregateOf(segments, size, segments)
}

// aggregateOf is the same; counted is how many packets the kernel says that it is, 0 where a virtual machine sent it.
func (g *gateway) aggregateOf(segments, size, counted int) (packets.Packet, result) {
	g.t.Helper()
	p := packets.NewTCP(inA, web, packets.ACK, strings.Repeat("x", segments*size)).Change(func(p *packets.Packet) { p.IPv4.DF = true })
	before := g.counters()
	var r result
	g.in(func() (err error) {
		r.action, r.frame, err = dataplane.Inject(g.data, dataplane.Injected{
			Frame: datapath.Frame{Ifindex: g.private, Octets: inside(p).Bytes()}, Mode: datapath.TCX, Segments: uint32(counted), SegmentSize: uint32(size),
		})
		return err
	})
	for reason, count := range g.counters() {
		if count != before[reason] && !r.reason.IsDrop() {
			r.reason = reason
		}
	}
	r.packet, _ = packets.Parse(r.frame)
	return p, r
}

// An aggregate is translated whole; what is compared with the MTU is what its packets on
// the wire are long.
func TestAggregatesAndTheMTU(t *testing.T) {
	t.Parallel()
	const headers = 40
	g := newGateway(t, links(1300, 1500))
	g.leaves(g.put(tcp(inA, web, packets.SYN)), tcp(endpoint(outbound, inA.Port()), web, packets.SYN))
	_, r := g.aggregate(2, 1300-headers)
	if r.action != dataplane.Redirect || r.reason != "forwarded" || r.packet.IPv4.Source != outbound || len(r.packet.Payload) != 2*(1300-headers) {
		t.Errorf("%v, %s: %s", r.action, r.reason, r.packet)
	}
	const unreachable, tooBig = 3, 4
	p, r := g.aggregate(2, 1301-headers)
	g.refused(r, p, "drop_too_big", privateAddress, unreachable, tooBig, 1300)
}

// A meter counts the packets of an aggregate, and all of its octets.
func TestMetersCountAggregates(t *testing.T) {
	t.Parallel()
	const size = 500
	for name, c := range map[string]struct {
		unit meter.Unit
		most float64 // an hour
		pass int     // aggregates of four packets that come through: the last may owe
	}{
		"packets":                            {meter.Packets, 11, 3},
		"octets":                             {meter.Bytes, 3 * (4*size + 40), 3},
		"a bucket smaller than an aggregate": {meter.Packets, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, counted := range []int{4, 0} {
				g := newGateway(t)
				g.leaves(g.put(tcp(inA, web, packets.SYN)), tcp(endpoint(outbound, inA.Port()), web, packets.SYN))
				g.chained([]nf.Rule{{Direction: model.Out}}, []nf.Step{{Number: 1, Function: ratelimit.RateLimit{Meter: meter.Meter{
					Per: meter.PerSource, Unit: c.unit, Rate: c.most / 3600, Burst: time.Hour, Entries: 64,
				}}}})
				passed := 0
				for range 5 {
					if _, r := g.aggregateOf(4, size, counted); r.reason == "forwarded" {
						passed++
					}
				}
				same(g, fmt.Sprintf("aggregates that pass, %d counted", counted), passed, c.pass)
			}
		})
	}
}
