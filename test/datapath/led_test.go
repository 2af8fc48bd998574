package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// led are the two ways in which strangers reach a host without a name: at's port 80 leads to shopIn.
var led = map[string]func(t *testing.T, options ...option) (g *gateway, at netip.AddrPort){
	"dnat": func(t *testing.T, options ...option) (*gateway, netip.AddrPort) {
		g := newGateway(t, options...)
		g.forwards([]forward{tcpTo(shop, shopIn), {to: shop.Addr(), protocol: model.UDP, port: shop.Port(), dnat: tcpTo(shop, shopIn).dnat}})
		return g, shop
	},
	"1:1": func(t *testing.T, options ...option) (*gateway, netip.AddrPort) {
		return newOneToOne(t, options...), endpoint(alone, shopIn.Port())
	},
}

func eachLed(t *testing.T, try func(t *testing.T, made func(options ...option) (*gateway, netip.AddrPort))) {
	for name, made := range led {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try(t, func(options ...option) (*gateway, netip.AddrPort) { return made(t, options...) })
		})
	}
}

// forged is a stranger that is another each time.
func forged(n int) netip.AddrPort {
	return endpoint(netip.AddrFrom4([4]byte{203, 0, 114, byte(n)}), 1000)
}

// Whoever forges sources takes what one service may have, and no more: others are reached.
func TestForgedSourcesTakeOneHostsShare(t *testing.T) {
	t.Parallel()
	const most = 20
	eachLed(t, func(t *testing.T, made func(...option) (*gateway, netip.AddrPort)) {
		g, at := made(limited(func(l *datapath.Limits) { l.BindingSessions = most }))
		for n := range most {
			p := either(n%2 == 0, tcp(forged(n), at, packets.SYN), udp(forged(n), at))
			g.forwarded(g.put(p))
		}
		g.dropped(g.put(tcp(forged(most), at, packets.SYN)), "drop_binding_sessions")
		g.dropped(g.put(udp(forged(most), at)), "drop_binding_sessions")
		g.sound()
		g.lend(pool1, 80, endpoint(hostB, 8080), nil)
		g.established(client, lent, endpoint(hostB, 8080))
		g.idle(11 * time.Second) // and of TCP nothing stays that was not proved
		g.forwarded(g.put(tcp(forged(most), at, packets.SYN)))
		g.sound()
		g.idle(301 * time.Second)
		g.idle(301 * time.Second)
		g.sound()
		for n := range most {
			g.forwarded(g.put(tcp(forged(n), at, packets.SYN)))
		}
	})
}

// While a flood of forged sources fills the share of a host, what nobody proves goes within some seconds: somebody new has
// a chance, and who is there stays. Datagrams that were answered go only where hardly a place is left.
func TestForgedSourcesMustHurry(t *testing.T) {
	t.Parallel()
	const most = 24
	eachLed(t, func(t *testing.T, made func(...option) (*gateway, netip.AddrPort)) {
		g, at := made(limited(func(l *datapath.Limits) { l.BindingSessions = most }),
			timeouts(func(s *datapath.Settings) { s.Timeouts[model.TimeoutUDPUnanswered] = 30 * time.Second }))
		from := func(port uint16) netip.AddrPort { return endpoint(client.Addr(), port) }
		flood := func(first, last int) {
			for n := first; n < last; n++ {
				g.forwarded(g.put(either(n%2 == 0, tcp(forged(n), at, packets.SYN), udp(forged(n), at))))
			}
		}
		answered := func(port uint16) {
			g.forwarded(g.put(udp(from(port), at)))
			g.forwarded(g.put(udp(shopIn, from(port))))
		}
		g.forwarded(g.put(segment(from(1), at, packets.SYN, clientISN, 0)))
		g.forwarded(g.put(segment(shopIn, from(1), synAck, hostISN, clientISN+1)))
		g.forwarded(g.put(proof(from(1), at)))
		answered(2)
		flood(0, most/2-3)
		g.idle(4 * time.Second)
		same(g, "sessions while half of the share is free", len(g.sessions()), most/2-1)
		flood(most/2-3, most-2)
		g.dropped(g.put(tcp(from(3), at, packets.SYN)), "drop_binding_sessions")
		g.idle(4 * time.Second)
		same(g, "sessions when some seconds have gone", len(g.sessions()), most/2-1)
		g.forwarded(g.put(tcp(from(3), at, packets.SYN)))
		g.idle(31 * time.Second)
		left := g.sessions()
		same(g, "sessions that somebody proved", len(left), 2)
		for _, s := range left {
			same(g, "of whom", s.Remote.Addr(), client.Addr())
		}
		for port := range uint16(most - 2) {
			answered(10 + port)
		}
		g.idle(12 * time.Second)
		same(g, "sessions when hardly a place was left", len(g.sessions()), most*7/8-1)
		g.sound()
	})
}

// A remote address has what it proved, not what somebody sent in its name: TCP by a handshake
// whose numbers it saw, all else by an answer of the host.
func TestForgedSourcesLockNobodyOut(t *testing.T) {
	t.Parallel()
	eachLed(t, func(t *testing.T, made func(...option) (*gateway, netip.AddrPort)) {
		g, at := made(limited(func(l *datapath.Limits) { l.RemoteSessions = 1 }))
		from := func(port uint16) netip.AddrPort { return endpoint(client.Addr(), port) }
		for port := range uint16(5) {
			g.forwarded(g.put(segment(from(1+port), at, packets.SYN, clientISN, 0)))
			g.forwarded(g.put(segment(shopIn, from(1+port), synAck, 7<<16, clientISN+1)))
			g.forwarded(g.put(segment(from(1+port), at, packets.ACK, clientISN+1, 70<<16))) // a guess
			g.forwarded(g.put(udp(from(1+port), at)))
		}
		same(g, "what it has", len(must(g.data.Remotes())(t)), 0)
		g.idle(11 * time.Second)
		for _, s := range g.sessions() {
			if s.Protocol == model.TCP {
				t.Errorf("%s stays by a guess", s)
			}
		}
		g.forwarded(g.put(segment(from(100), at, packets.SYN, clientISN, 0)))
		g.forwarded(g.put(segment(shopIn, from(100), synAck, hostISN, clientISN+1)))
		g.forwarded(g.put(proof(from(100), at)))
		same(g, "what it has", must(g.data.Remotes())(t)[client.Addr()], 1)
		g.dropped(g.put(tcp(from(101), at, packets.SYN)), "drop_remote_sessions")
		g.dropped(g.put(udp(from(101), at)), "drop_remote_sessions")
		g.sound()
		g.forwarded(g.put(segment(shopIn, from(100), packets.RST|packets.ACK, hostISN+1, clientISN+1)))
		same(g, "what it has", len(must(g.data.Remotes())(t)), 0)
		g.forwarded(g.put(udp(from(101), at)))
		g.forwarded(g.put(udp(shopIn, from(101))))
		g.dropped(g.put(udp(from(102), at)), "drop_remote_sessions")
		g.sound()
		g.idle(301 * time.Second)
		g.idle(301 * time.Second)
		same(g, "what it has", len(must(g.data.Remotes())(t)), 0)
		g.sound()
	})
}

// Whoever sends all its SYNs first, and what proves them later, has no more than its own share; nor has who sends datagrams
// before the host has answered any.
func TestLateProofsKeepTheRemoteLimit(t *testing.T) {
	t.Parallel()
	const most, share = 2, 20
	eachLed(t, func(t *testing.T, made func(...option) (*gateway, netip.AddrPort)) {
		g, at := made(limited(func(l *datapath.Limits) { l.RemoteSessions, l.BindingSessions = most, 2*share }))
		from := func(n int) netip.AddrPort { return endpoint(client.Addr(), uint16(1+n)) }
		for n := range share {
			g.forwarded(g.put(segment(from(n), at, packets.SYN, clientISN, 0)))
			g.forwarded(g.put(segment(shopIn, from(n), synAck, hostISN, clientISN+1)))
			g.forwarded(g.put(udp(from(n), at)))
		}
		for n := range share {
			g.put(proof(from(n), at))
			g.put(udp(shopIn, from(n)))
		}
		if n := must(g.data.Remotes())(t)[client.Addr()]; n != most {
			t.Errorf("%d sessions of one remote address, %d are allowed", n, most)
		}
		g.idle(10 * time.Minute)
		if n := len(g.sessions()); n > most {
			t.Errorf("%d sessions stand, %d are allowed", n, most)
		}
		g.forwarded(g.put(tcp(forged(1), at, packets.SYN)))
		g.sound()
	})
}
