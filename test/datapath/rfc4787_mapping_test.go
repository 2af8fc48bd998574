package datapath

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

func TestRFC4787_REQ1_EndpointIndependentMapping(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	first := g.mapped(udp(inA, server))
	for _, to := range []netip.AddrPort{server2, endpoint(remote, 54), endpoint(remote2, 9)} {
		same(g, "outside endpoint towards "+to.String(), g.mapped(udp(inA, to)), first)
	}
	g.count(4)
}

func TestRFC4787_REQ2_PairedPooling(t *testing.T) {
	t.Parallel()
	g := newGateway(t, outboundAddresses(outbound, pool1.Next().Next(), netip.MustParseAddr("198.51.100.7")))
	used := map[netip.Addr]bool{}
	for n := range 24 {
		address := g.mapped(udp(endpoint(host(n), 5000), server)).Addr()
		used[address] = true
		for port := uint16(5001); port < 5004; port++ {
			same(g, "address of "+host(n).String(), g.mapped(udp(endpoint(host(n), port), server)).Addr(), address)
		}
	}
	same(g, "addresses in use", len(used), 3)
}

func TestRFC4787_REQ3_NoPortOverloading(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	owner := map[netip.AddrPort]netip.Addr{}
	for n := range 200 { // all from one inside port, to one remote
		out := g.mapped(udp(endpoint(host(n), 40000), server))
		if other, taken := owner[out]; taken {
			t.Fatalf("%s stands for %s and %s", out, other, host(n))
		}
		owner[out] = host(n)
	}
}

func TestRFC4787_REQ3a_PortClassKept(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for n := range 100 {
		if port := g.mapped(udp(endpoint(host(n), 500), server)).Port(); port < 1 || port > 1023 {
			t.Fatalf("port 500 of %s became %d", host(n), port)
		}
		if port := g.mapped(udp(endpoint(host(n), 1024), server)).Port(); port < 1024 {
			t.Fatalf("port 1024 of %s became %d", host(n), port)
		}
	}
}

func TestRFC4787_REQ3b_PortKeptWhereFree(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for _, port := range []uint16{1, 1023, 1024, 40000, 65535} {
		same(g, "outside port", g.mapped(udp(endpoint(hostA, port), server)).Port(), port)
	}
}

func TestRFC4787_REQ10_PayloadUntouched(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for _, c := range []struct {
		port    uint16
		payload string
	}{
		{5060, "REGISTER sip:10.0.0.100:40000 SIP/2.0\r\nContact: <sip:a@10.0.0.100:40000>\r\n"},
		{69, "\x00\x01file 10.0.0.100\x00octet\x00"},
		{1701, hostA.String()},
	} {
		out := g.put(packets.NewUDP(inA, endpoint(remote, c.port), c.payload))
		g.leaves(out, packets.NewUDP(endpoint(outbound, 40000), endpoint(remote, c.port), c.payload))
		back := g.put(packets.NewUDP(endpoint(remote, c.port), endpoint(outbound, 40000), "198.18.0.2:40000 "+c.payload))
		g.leaves(back, packets.NewUDP(endpoint(remote, c.port), inA, "198.18.0.2:40000 "+c.payload))
	}
}

// The behaviour that an endpoint sees is the same alone and beside many others
// that want its port.
func TestRFC4787_REQ11_Deterministic(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	behaviour := func(from netip.AddrPort) string {
		t.Helper()
		first := g.mapped(udp(from, server))
		again := g.mapped(udp(from, server2))
		stranger := g.put(udp(endpoint(never, 53), first))
		friend := g.put(udp(endpoint(remote, 54), first))
		return fmt.Sprint(again == first, stranger.reason, friend.reason)
	}
	alone := behaviour(inA)
	for n := range 500 {
		g.mapped(udp(endpoint(host(n), 41000), server))
	}
	crowded := endpoint(hostA, 41000)
	same(g, "behaviour under conflicts", behaviour(crowded), alone)
	if g.mapped(udp(crowded, server)).Port() == 41000 {
		t.Fatal("there was no conflict: this test shows nothing")
	}
}

func TestRFC4787_REQ7_OverlapRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pool, outbound, host string }{
		{"198.18.0.32/28", "198.18.0.2", "198.18.0.33"},
		{"10.0.0.96/28", "198.18.0.2", "10.0.0.100"},
		{"198.18.0.32/28", "10.0.0.100", "10.0.0.100"},
	} {
		text := fmt.Sprintf(`interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: "198.18.0.1:53", private: "10.0.0.1:53"}
pool: {addresses: [%s]}
outbound: {addresses: [%s]}
hosts: [{name: hosta.foo.example., address: %s}]
`, c.pool, c.outbound, c.host)
		if _, err := config.Parse("overlap.yaml", []byte(text)); err == nil {
			t.Errorf("pool %s, outbound %s and host %s are accepted", c.pool, c.outbound, c.host)
		}
	}
}

// RFC 6056 and RFC 7857 ask for random ports; what is random is no pattern.
func TestRFC6888_REQ15_PortsHardToGuess(t *testing.T) { randomPorts(t) }

func TestRFC7857_S9_RandomPort(t *testing.T) { randomPorts(t) }

func randomPorts(t *testing.T) {
	t.Helper()
	for _, protocol := range []model.Protocol{model.UDP, model.TCP} {
		g := newGateway(t)
		var ports []int
		steps := map[int]int{}
		for n := range 256 {
			from := endpoint(host(n), 40000)
			p := udp(from, server)
			if protocol == model.TCP {
				p = tcp(from, server, packets.SYN)
			}
			port := int(g.mapped(p).Port())
			if n > 0 {
				steps[port-ports[n-1]]++
			}
			ports = append(ports, port)
		}
		// Equal steps between neighbours are rare among 64,512 ports: 256 random
		// ones have the same step about once.
		for step, times := range steps {
			if times > 4 {
				t.Errorf("%s: %d times the next port was %+d", protocol, times, step)
			}
		}
		var high int
		for _, port := range ports[1:] {
			if port > 33280 { // the middle of 1024..65535
				high++
			}
		}
		if high < 64 || high > 192 { // p < 1e-14 for fair coins
			t.Errorf("%s: %d of 255 ports are in the upper half", protocol, high)
		}
	}
}

func TestRFC7857_S8_ParityIgnored(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	odd := 0
	for n := range 64 {
		odd += int(g.mapped(udp(endpoint(host(n), 40000), server)).Port() & 1)
	}
	if odd < 8 { // p < 1e-9 for fair coins
		t.Errorf("%d of 64 ports for an even inside port are odd", odd)
	}
}

// Every port of a class serves before one is refused.
func TestRFC6888_REQ13_EveryPortUsed(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	used := map[uint16]bool{}
	for _, n := range rand.Perm(1023) {
		used[g.mapped(udp(endpoint(host(n), 500), server)).Port()] = true
	}
	same(g, "ports in use", len(used), 1023)
	r := g.put(udp(endpoint(hostA, 500), server))
	same(g, "reason when none is left", r.reason, "drop_no_port")
}
