package datapath

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// byDefault sets the timers that a configuration has which names none.
func byDefault(t *testing.T) option {
	t.Helper()
	c := must(config.Parse("least.yaml", []byte(`interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: "198.18.0.1:53", private: "10.0.0.1:53"}
pool: {addresses: [198.18.0.32/28]}
`)))(t)
	return timeouts(func(s *datapath.Settings) {
		s.Timeouts, s.PortQuarantine = c.Timeouts, c.Outbound.Quarantine
	})
}

func TestRFC4787_REQ5_NotBeforeTwoMinutes(t *testing.T) {
	t.Parallel()
	g := newGateway(t, byDefault(t))
	out := g.mapped(udp(inA, web))
	g.idle(2 * time.Minute)
	g.leaves(g.put(udp(web, out)), udp(web, inA))
}

// What is asked at port 53 goes after ten seconds; the mapping stays for whom else the endpoint talks to, and neither a
// name server inside nor a peer's source port 53 is short.
func TestRFC4787_REQ5a_ShortForDNS(t *testing.T) {
	t.Parallel()
	g := newGateway(t, byDefault(t), filtering(model.EndpointIndependent))
	out := g.mapped(udp(inA, server))
	g.idle(5 * time.Second)
	g.leaves(g.put(udp(server, out)), udp(server, inA))
	g.count(1)
	g.idle(11 * time.Second)
	g.count(0)
	g.dropped(g.put(udp(server, out)), "drop_no_mapping")

	same(g, "the endpoint's port", g.mapped(udp(inA, server)), out)
	same(g, "the endpoint's port", g.mapped(udp(inA, web)), out)
	g.idle(11 * time.Second)
	g.count(1)
	g.leaves(g.put(udp(web, out)), udp(web, inA))
	g.leaves(g.put(udp(server2, out)), udp(server2, inA)) // opened from outside, from port 53
	g.leaves(g.put(udp(inA, server2)), udp(out, server2)) // and answered
	g.idle(2 * time.Minute)
	g.count(2)

	asked := g.mapped(tcp(inA, server, packets.SYN))
	g.idle(2 * time.Minute)
	g.leaves(g.put(tcp(server, asked, packets.SYN|packets.ACK)), tcp(server, inA, packets.SYN|packets.ACK))
}

func TestRFC4787_REQ5b_TimerConfigurable(t *testing.T) {
	t.Parallel()
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.Timeouts[model.TimeoutUDP] = 20 * time.Second }))
	out := g.mapped(udp(inA, web))
	g.idle(19 * time.Second)
	g.count(1)
	g.idle(2 * time.Second)
	g.count(0)
	g.dropped(g.put(udp(web, out)), "drop_no_mapping")
}

func TestRFC4787_REQ5c_FiveMinutesByDefault(t *testing.T) {
	t.Parallel()
	g := newGateway(t, byDefault(t))
	out := g.mapped(udp(inA, web))
	g.idle(299 * time.Second)
	g.leaves(g.put(udp(web, out)), udp(web, inA))
	g.idle(302 * time.Second)
	g.count(0)
}

func TestRFC4787_REQ6_OutboundRefresh(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	for range 3 {
		g.idle(200 * time.Second)
		g.leaves(g.put(udp(inA, server)), udp(out, server))
	}
	g.count(1)
}

func TestRFC4787_REQ6a_InboundRefresh(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	for range 3 {
		g.idle(200 * time.Second)
		g.leaves(g.put(udp(server, out)), udp(server, inA))
	}
	g.count(1)
}

// filtered says what becomes of a packet from the remote address and port to a
// mapping that has spoken to server: from the same address and port, from
// another port of it, from another address.
func filtered(t *testing.T, f model.Filtering, protocol model.Protocol) (peer, port, address model.Reason) {
	t.Helper()
	g := newGateway(t, filtering(f))
	send := func(p packets.Packet) model.Reason { return g.put(p).reason }
	if protocol == model.TCP {
		out := g.mapped(tcp(inA, server, packets.SYN))
		return send(tcp(server, out, packets.SYN|packets.ACK)), send(tcp(endpoint(remote, 54), out, packets.SYN)),
			send(tcp(server2, out, packets.SYN))
	}
	out := g.mapped(udp(inA, server))
	return send(udp(server, out)), send(udp(endpoint(remote, 54), out)), send(udp(server2, out))
}

func wantFiltered(t *testing.T, f model.Filtering, protocol model.Protocol, want ...model.Reason) {
	t.Helper()
	peer, port, address := filtered(t, f, protocol)
	if peer != want[0] || port != want[1] || address != want[2] {
		t.Errorf("%s, %s: %s, %s, %s, want %s", f, protocol, peer, port, address, want)
	}
}

func TestRFC4787_REQ8_Filtering(t *testing.T) {
	t.Parallel()
	wantFiltered(t, model.AddressDependent, model.UDP, "forwarded", "forwarded", "drop_filtered")
}

func TestRFC4787_REQ8a_FilteringConfigurable(t *testing.T) {
	t.Parallel()
	wantFiltered(t, model.EndpointIndependent, model.UDP, "forwarded", "forwarded", "forwarded")
	wantFiltered(t, model.AddressAndPortDependent, model.UDP, "forwarded", "drop_filtered", "drop_filtered")
}

func TestRFC6888_REQ7_Filtering(t *testing.T) {
	t.Parallel()
	for _, protocol := range []model.Protocol{model.UDP, model.TCP} {
		wantFiltered(t, model.EndpointIndependent, protocol, "forwarded", "forwarded", "forwarded")
		wantFiltered(t, model.AddressDependent, protocol, "forwarded", "forwarded", "drop_filtered")
	}
}

// What a mapping lets in lives as long as one of its sessions to that address,
// whichever of them began.
func TestFilterOutlivesItsFirstSession(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	g.idle(200 * time.Second)
	g.mapped(udp(inA, endpoint(remote, 54)))
	g.idle(150 * time.Second) // the first has ended
	g.count(1)
	g.leaves(g.put(udp(endpoint(remote, 55), out)), udp(endpoint(remote, 55), inA))
	g.idle(301 * time.Second)
	g.count(0)
	g.mapped(udp(inA, server2)) // the mapping lives again, the filter does not
	g.dropped(g.put(udp(server, out)), "drop_filtered")
	g.idle(301 * time.Second)
	g.idle(2 * time.Second)
	same(g, "sessions in use", must(g.data.Usage())(t).Sessions, 0)
}

func TestRFC4787_REQ9_Hairpin(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	a, b := g.mapped(udp(inA, server)), g.mapped(udp(inB, server))
	g.leaves(g.put(udp(inA, b)), udp(a, inB))
	g.leaves(g.put(udp(inB, a)), udp(b, inA))
}

func TestRFC4787_REQ9a_HairpinExternalSource(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	b := g.mapped(udp(inB, server))
	r := g.put(udp(inA, b)) // its mapping is made by this packet
	g.leaves(r, udp(endpoint(outbound, 40000), inB))
	same(g, "source", g.mapped(udp(inA, server)), r.packet.Tuple().Source)
}
