package datapath

import (
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// nat is the NAT path as the RFCs tell it, in plain Go: what TestDifferential
// holds against the data plane. It knows no time: nothing in it expires.
type nat struct {
	filtering  model.Filtering
	shared     bool                       // the gateway has the outbound address too
	kept       []model.Port               // of the outbound address, which is of the pool, too
	neighbours map[netip.Addr]packets.MAC // hosts inside
	mappings   map[point]netip.AddrPort   // internal → external, RFC 4787 REQ-1
	internal   map[point]netip.AddrPort   // external → internal
	sessions   map[pair]*modelSession     // by their inside tuples
	claimed    map[pair]*modelSession     // from the pool, by their outside tuples
	bound      map[public]*modelBinding
	known      map[acquaintance]*standing
	most       int // sessions of a known client
	// observe tells which external endpoint the data plane chose for a mapping
	// whose own port was taken.
	observe func(point) netip.AddrPort
	fail    func(format string, args ...any)
}

type point struct {
	protocol model.Protocol
	at       netip.AddrPort
}

type pair struct {
	protocol      model.Protocol
	local, remote netip.AddrPort
}

type modelSession struct {
	protocol                  model.Protocol
	private, external, remote netip.AddrPort
	origin, state             string
	hairpin                   bool
	guard                     modelGuard
	pool                      *modelPoolSession // nil for others
}

// fate is what becomes of a packet.
type fate struct {
	reason model.Reason
	packet *packets.Packet // as it leaves, when it is forwarded
}

func newNAT(f model.Filtering) *nat {
	return &nat{
		filtering: f, neighbours: map[netip.Addr]packets.MAC{hostA: packets.HostMAC, hostB: packets.OtherHostMAC},
		mappings: map[point]netip.AddrPort{}, internal: map[point]netip.AddrPort{},
		sessions: map[pair]*modelSession{}, claimed: map[pair]*modelSession{}, bound: map[public]*modelBinding{}, known: map[acquaintance]*standing{},
	}
}

func isPool(a netip.Addr) bool { return a == pool1 || a == pool2 }
func isOurs(a netip.Addr) bool { return a == outbound || isPool(a) }

func flagsOf(p *packets.Packet) packets.Flags {
	if p.TCP == nil {
		return 0
	}
	return p.TCP.Flags
}

func pureSYN(f packets.Flags) bool {
	return f&(packets.SYN|packets.ACK|packets.RST|packets.FIN) == packets.SYN
}

func (s *modelSession) closing() bool { return s.state == "fin_both" || s.state == "rst" }

// after is the state machine of RFC 7857 §2: out says that the packet comes
// from inside. An RST ends what stood; a handshake has its own timer, and what
// both sides finished stays so.
func (s *modelSession) after(f packets.Flags, out bool) string {
	opens := out == (s.origin == "inside")
	fin := map[bool]string{true: "fin_out", false: "fin_in"}
	switch {
	case f&packets.RST != 0:
		if s.state == "established" || s.state == fin[true] || s.state == fin[false] {
			return "rst"
		}
	case f&packets.SYN != 0 && s.state == "syn" && !opens:
		return "syn_both"
	case f&packets.SYN != 0 && s.closing() && f&packets.ACK == 0:
		return map[bool]string{true: "syn", false: "syn_both"}[opens]
	case f&packets.SYN != 0:
	case f&packets.FIN != 0 && s.state == fin[!out]:
		return "fin_both"
	case f&packets.FIN != 0 && (s.state == "syn_both" || s.state == "established"):
		return fin[out]
	case f&packets.FIN != 0:
	case f&packets.ACK != 0 && (s.state == "syn_both" || s.state == "rst"):
		return "established"
	}
	return s.state
}

// compare says how the data plane's sessions differ from the model's.
func (n *nat) compare(got []datapath.Session) string {
	want := map[string]bool{}
	for _, s := range n.sessions {
		want[fmt.Sprint(s.protocol, s.private, s.external, s.remote, s.origin, s.state, s.hairpin, s.tentative())] = true
	}
	for _, s := range got {
		line := fmt.Sprint(s.Protocol, s.Private, s.External, s.Remote, s.Origin, s.State, s.Hairpin, s.Tentative)
		if !want[line] {
			return "not in the model, or twice: " + line
		}
		delete(want, line)
	}
	for line := range want {
		return "not in the data plane: " + line
	}
	return ""
}

func setSource(p *packets.Packet, a netip.AddrPort) {
	p.IPv4.Source = a.Addr()
	switch {
	case p.UDP != nil:
		p.UDP.Source = a.Port()
	case p.TCP != nil:
		p.TCP.Source = a.Port()
	case p.ICMP.Type == packets.EchoRequest:
		p.ICMP.Rest = uint32(a.Port())<<16 | p.ICMP.Rest&0xffff
	}
}

func setDestination(p *packets.Packet, a netip.AddrPort) {
	p.IPv4.Destination = a.Addr()
	switch {
	case p.UDP != nil:
		p.UDP.Destination = a.Port()
	case p.TCP != nil:
		p.TCP.Destination = a.Port()
	case p.ICMP.Type == packets.EchoReply:
		p.ICMP.Rest = uint32(a.Port())<<16 | p.ICMP.Rest&0xffff
	}
}
