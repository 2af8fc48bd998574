package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// forgery is what somebody sends in the name of others: one packet was enough in the field report.
type forgery struct {
	name   string
	from   netns.Node
	to     string // interface of the gateway
	packet func(i int) packets.Packet
	ends   model.Reason
}

// forgeries are A4, A9 and A10 of the field report.
func (r *realm) forgeries() []forgery {
	host, victim, outsider := r.Gateway.Hosts[0], r.Gateway.Hosts[1], r.Clients[0]
	private, public := r.Gateway.Private[0], r.Gateway.Public[0]
	anyone := func() netip.Addr {
		return netip.AddrFrom4([4]byte{203, 0, 113, byte(rand.IntN(256))}) //nolint:gosec // any will do
	}
	const question = "\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x10\x00\x01"
	dns := func(a netip.Addr) netip.AddrPort { return netip.AddrPortFrom(a, 53) }
	return []forgery{
		{"A4, a neighbour's flow", host, private, func(i int) packets.Packet {
			return packets.NewTCP(netip.AddrPortFrom(victim.IP, uint16(1024+i)), netip.AddrPortFrom(outsider.IP, 4444), packets.SYN, "")
		}, "drop_spoofed_source"},
		{"A4, questions of others", host, private, func(int) packets.Packet {
			return packets.NewUDP(netip.AddrPortFrom(anyone(), anyPort()), dns(r.Gateway.PrivateAddress), question)
		}, "drop_spoofed_source"},
		{"A9, a host outside", outsider, public, func(i int) packets.Packet {
			source := netip.AddrPortFrom(victim.IP, anyPort())
			switch i % 3 {
			case 0:
				return packets.NewUDP(source, dns(r.Gateway.PublicAddress), question)
			case 1:
				return packets.NewTCP(source, dns(r.Gateway.PublicAddress), packets.SYN, "")
			}
			return packets.NewEcho(victim.IP, r.Gateway.PublicAddress, 7, uint16(i))
		}, "drop_spoofed_source"},
		{"A10, redirects", outsider, public, func(int) packets.Packet {
			answer := packets.NewEchoReply(r.Gateway.PublicAddress, r.Clients[1].IP, 7, 1)
			return packets.NewICMPError(r.Clients[1].IP, r.Gateway.PublicAddress, 5, 1, 0xc6120042, answer, 8)
		}, "drop_icmp_type"},
	}
}

// TestForgedSourcesHarmNobody repeats the attacks A4, A9 and A10 of the field report: one packet, ten of them, and as many
// as one core sends. None opens a session or turns a route, and whoever else is there gets in and out.
func TestForgedSourcesHarmNobody(t *testing.T) {
	const different = 50_000
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 2, PrivateInterfaces: 2})
	r.webServers()
	webServer(t, r.Clients[1], 8080, "outside")
	d := r.start(r.configuration())
	for _, f := range r.forgeries() {
		t.Run(f.name, func(t *testing.T) {
			frames, wanted := r.frames(f.from, f.to, different, f.packet), uint64(0)
			send := r.sender(f.from, r.gatewayMAC(f.to))
			before := d.counted(f.ends)
			for _, few := range []int{1, 10} {
				for i := range few {
					send(f.packet(i))
				}
				wanted += uint64(few) //nolint:gosec // 1 or 10
				eventually(t, 10*time.Second, "they are dropped", func() bool { return d.counted(f.ends)-before == wanted })
			}
			if s := d.sessions(); len(s) != 0 {
				t.Errorf("they opened %v", s)
			}
			began := time.Now()
			sent, stop := r.onslaught(f.from, 10_000_000, frames)
			defer stop()
			eventually(t, time.Minute, "the flood stands", func() bool { return d.counted(f.ends)-before > different })
			r.bystanders(t)
			t.Logf("%.0f packets a second", float64(sent.Load())/time.Since(began).Seconds())
			stop()
			for _, session := range d.sessions() {
				if f.from == r.Gateway.Hosts[0] && strings.Contains(fmt.Sprint(session)+" ", ":4444 ") {
					t.Errorf("it opened %v", session)
				}
			}
			if route, err := r.Gateway.Command(t.Context(), "ip", "route", "get", r.Clients[1].IP.String()).CombinedOutput(); err != nil || strings.Contains(string(route), "redirected") {
				t.Errorf("the gateway's own route: %v: %s", err, route)
			}
			if out, err := d.tell("sessions", "end", "--all"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		})
	}
}

// TestForgedAcknowledgementsBanNobody repeats the attack A12 of the field report, at its 60,000 a second and at ten times
// that, or as fast as one core sends: nobody is banned for a guess, and whoever else is there gets in and out. Who does
// connect to the honeypot at the report's rate is banned; at more the budget of proofs is the flood's.
func TestForgedAcknowledgementsBanNobody(t *testing.T) {
	const different, handshakes, reported = 50_000, 6, 60_000
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 3})
	r.webServers()
	webServer(t, r.Clients[1], 8080, "outside")
	attacker, scanner := r.Clients[0], r.Clients[2]
	d := r.start(r.configuration() + r.guideFrom("protection", "honeypot.md"))
	honeypot := netip.AddrPortFrom(r.Gateway.PublicAddress, 23)
	frames := r.frames(attacker, r.Gateway.Public[0], different, func(i int) packets.Packet {
		victim := netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})
		p := packets.NewTCP(netip.AddrPortFrom(victim, anyPort()), honeypot, packets.ACK, "")
		p.TCP.Sequence, p.TCP.Acknowledge = rand.Uint32(), rand.Uint32() //nolint:gosec // any will do
		return p
	})
	for _, rate := range []int{reported, 10 * reported} {
		began := time.Now()
		sent, stop := r.onslaught(attacker, rate, frames)
		defer stop()
		r.bystanders(t)
		j := journal{daemon: d}
		for n := 0; rate == reported && n < handshakes; n++ {
			eventually(t, 30*time.Second, "the honeypot answers", func() bool { return connects(scanner, honeypot) == nil })
			j.mustBecomeBanned(scanner.IP)
			if out, err := d.tell("ban", "remove", scanner.IP.String()); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		t.Logf("%.0f packets a second", float64(sent.Load())/time.Since(began).Seconds())
		stop()
	}
	if bans, err := d.tell("ban", "list"); err != nil || strings.Contains(bans, "203.0.113.") {
		t.Errorf("banned for guesses: %v\n%s", err, bans)
	}
}
