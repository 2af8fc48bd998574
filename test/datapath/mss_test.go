package datapath

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// mss is the TCP option of a maximum segment size.
func mss(size uint16) []byte { return binary.BigEndian.AppendUint16([]byte{2, 4}, size) }

// withTCP puts TCP options into a segment.
func withTCP(p packets.Packet, options ...[]byte) packets.Packet {
	return p.Change(func(p *packets.Packet) {
		for _, o := range options {
			p.TCP.Options = append(p.TCP.Options, o...)
		}
	})
}

func links(public, private int) option {
	return func(s *setup) { s.before = func() error { return setMTUs(public, private) } }
}

func setMTUs(public, private int) error {
	if err := setMTU("eth0", public); err != nil {
		return err
	}
	return setMTU("eth1", private)
}

var (
	nop        = []byte{1}
	sack       = []byte{4, 2}
	timestamps = []byte{8, 10, 0, 0, 0, 1, 0, 0, 0, 0}
	scale      = []byte{3, 3, 7}
	end        = []byte{0}
)

// sizes are options of SYNs, and what becomes of them where 1,452 octets fit.
var sizes = map[string]struct{ said, becomes [][]byte }{
	"as Linux says it":           {[][]byte{mss(1460), sack, timestamps, nop, scale}, [][]byte{mss(1452), sack, timestamps, nop, scale}},
	"last":                       {[][]byte{nop, nop, sack, timestamps, nop, scale, nop, nop, mss(8960)}, [][]byte{nop, nop, sack, timestamps, nop, scale, nop, nop, mss(1452)}},
	"at an odd place":            {[][]byte{nop, mss(1460), nop, nop, nop}, [][]byte{nop, mss(1452), nop, nop, nop}},
	"at an odd place, the last":  {[][]byte{timestamps, timestamps, timestamps, nop, nop, nop, nop, nop, mss(1500), nop}, [][]byte{timestamps, timestamps, timestamps, nop, nop, nop, nop, nop, mss(1452), nop}},
	"twice":                      {[][]byte{mss(1460), nop, mss(1453), nop, nop, nop}, [][]byte{mss(1452), nop, mss(1452), nop, nop, nop}},
	"the greatest":               {[][]byte{mss(65535)}, [][]byte{mss(1452)}},
	"fits":                       {[][]byte{mss(1452)}, [][]byte{mss(1452)}},
	"less":                       {[][]byte{mss(536), sack, nop, nop}, [][]byte{mss(536), sack, nop, nop}},
	"behind the end":             {[][]byte{end, {0, 0, 0}, mss(1460)}, [][]byte{end, {0, 0, 0}, mss(1460)}},
	"cut off":                    {[][]byte{nop, nop, mss(1460)[:2]}, [][]byte{nop, nop, mss(1460)[:2]}},
	"cut in half":                {[][]byte{nop, mss(1460)[:3]}, [][]byte{nop, mss(1460)[:3]}},
	"its kind alone":             {[][]byte{nop, nop, nop, {2}}, [][]byte{nop, nop, nop, {2}}},
	"of another length":          {[][]byte{{2, 6, 5, 180, 0, 0}, nop, nop}, [][]byte{{2, 6, 5, 180, 0, 0}, nop, nop}},
	"of no length":               {[][]byte{{2, 0}, mss(1460), nop, nop}, [][]byte{{2, 0}, mss(1460), nop, nop}},
	"behind an option that lies": {[][]byte{{8, 39}, mss(1460), nop, nop}, [][]byte{{8, 39}, mss(1460), nop, nop}},
	"not at all":                 {nil, nil},
	"inside another option":      {[][]byte{{30, 8, 2, 4, 5, 180, 2, 4}}, [][]byte{{30, 8, 2, 4, 5, 180, 2, 4}}},
}

// SYN, and SYN and ACK, of each way in and out: what fits the narrower of the two links.
func TestMSS(t *testing.T) {
	t.Parallel()
	for name, mtu := range map[string][2]int{"the public link": {1492, 1500}, "the private link": {1500, 1492}} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, links(mtu[0], mtu[1]), filtering(model.EndpointIndependent))
			g.forwards([]forward{tcpTo(shop, shopIn)})
			g.lend(pool1, 80, service, nil)
			out := g.mapped(tcp(inA, web, packets.SYN))
			hairpin := endpoint(outbound, inB.Port())
			for option, o := range sizes {
				for _, c := range []struct {
					way       string
					put, left packets.Packet
				}{
					{"out", tcp(inA, web, packets.SYN), tcp(out, web, packets.SYN)},
					{"answered", tcp(web, out, synAck), tcp(web, inA, synAck)},
					{"in, by a mapping", tcp(client2, out, packets.SYN), tcp(client2, inA, packets.SYN)},
					{"by the pool", tcp(client, lent, packets.SYN), tcp(client, service, packets.SYN)},
					{"answered by a host", tcp(service, client, synAck), tcp(lent, client, synAck)},
					{"by dnat", tcp(client, shop, packets.SYN), tcp(client, shopIn, packets.SYN)},
					{"with data", packets.NewTCP(inA, web, packets.SYN, "early"), packets.NewTCP(out, web, packets.SYN, "early")},
				} {
					t.Log(option, c.way)
					g.leaves(g.put(withTCP(c.put, o.said...)), withTCP(c.left, o.becomes...))
				}
				if mtu[1] < 1500 { // between two hosts inside
					g.leaves(g.put(withTCP(tcp(inB, out, packets.SYN), o.said...)), withTCP(tcp(hairpin, inA, packets.SYN), o.becomes...))
				}
			}
			// What is no SYN says nothing, whatever stands there.
			p := withTCP(tcp(inA, web, packets.ACK), mss(1460))
			g.leaves(g.put(p), withTCP(tcp(out, web, packets.ACK), mss(1460)))
		})
	}
}

// What the configuration says instead.
func TestMSSAsConfigured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mss           model.MSS
		said, becomes uint16
	}{
		{model.MSSOff, 1460, 1460}, {model.MSSOff, 65535, 65535}, {1400, 1460, 1400}, {1400, 1300, 1300},
		{8960, 1460, 1452}, // never what does not fit
	} {
		g := newGateway(t, links(1492, 1500), timeouts(func(s *datapath.Settings) { s.MSS = c.mss }))
		out := endpoint(outbound, inA.Port())
		g.leaves(g.put(withTCP(tcp(inA, web, packets.SYN), mss(c.said))), withTCP(tcp(out, web, packets.SYN), mss(c.becomes)))
		g.leaves(g.put(withTCP(tcp(web, out, synAck), mss(c.said))), withTCP(tcp(web, inA, synAck), mss(c.becomes)))
	}
}

// A SYN that the kernel sends on is clamped, too: to an unknown neighbour, and by an interface without redirect.
func TestMSSThroughTheStack(t *testing.T) {
	t.Parallel()
	out := endpoint(outbound, inA.Port())
	syn, left := withTCP(tcp(inA, web, packets.SYN), mss(1460)), withTCP(tcp(out, web, packets.SYN), mss(1452))
	answer, back := withTCP(tcp(web, out, synAck), mss(1460)), withTCP(tcp(web, inA, synAck), mss(1452))
	g := newGateway(t, strangers, links(1492, 1500))
	g.handed(g.put(syn), "forwarded_no_neighbour", left)
	g.handed(g.put(answer), "forwarded_no_neighbour", back)
	g = newGateway(t, strangers, links(1500, 1492))
	g.handed(g.put(syn), "forwarded_no_neighbour", left)
	g.handed(g.put(answer), "forwarded_no_neighbour", back)
	g = newGateway(t, links(1492, 1500), func(s *setup) { s.Stack = []string{"eth0"} })
	g.handed(g.put(syn), "forwarded_by_stack", left)
	g.leaves(g.put(answer), back)
}

// A route's MTU counts where it is locked, as it does for what is too big: both ways, and before its neighbour is known.
func TestMSSOfARoute(t *testing.T) {
	t.Parallel()
	const narrow = 1300
	for name, known := range map[string]bool{"its neighbour known": true, "its neighbour unknown": false} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, func(s *setup) { s.strangers = !known })
			g.in(func() error {
				return netlink.RouteAdd(&netlink.Route{
					Dst: &net.IPNet{IP: remote.AsSlice(), Mask: net.CIDRMask(32, 32)}, Gw: router.AsSlice(), MTU: narrow, MTULock: true,
				})
			})
			out := endpoint(outbound, inA.Port())
			for _, c := range []struct {
				to   netip.AddrPort
				fits uint16
			}{{web, narrow - 40}, {endpoint(remote2, 80), 1460}} {
				p := g.put(withTCP(tcp(inA, c.to, packets.SYN), mss(1460))).packet
				same(g, "options of a SYN to "+c.to.String(), string(p.TCP.Options), string(mss(c.fits)))
				if !known {
					continue
				}
				p = g.put(withTCP(tcp(c.to, out, synAck), mss(1460))).packet
				same(g, "options of the answer from "+c.to.String(), string(p.TCP.Options), string(mss(c.fits)))
			}
		})
	}
}

// What is too long for the way to an unknown neighbour is not left to the kernel, whose error its sender would not see.
func TestTooBigForAnUnknownNeighbour(t *testing.T) {
	t.Parallel()
	const narrow = 1300
	g := newGateway(t, strangers, links(narrow, 1500))
	p := udp(inA, server)
	p.Payload, p.IPv4.DF = repeated(1, 1400), true
	g.refused(g.put(p), p, "drop_too_big", privateAddress, packets.DestinationUnreachable, fragmentationNeeded, narrow)
	p.Payload = repeated(1, 1000)
	if r := g.put(p); r.reason != "forwarded_no_neighbour" {
		t.Errorf("a shorter one: %s", r.reason)
	}
}
