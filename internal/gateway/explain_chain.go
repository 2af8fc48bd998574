package gateway

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/chain"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// somePort is where flows begin of which nobody said it, and the identifier of an echo.
const somePort = 40000

// judge runs the flow's first packet through the chains. Of a flow from outside they see
// the private endpoint that it goes to.
func (e *explainer) judge(f flow, destination netip.Addr, port uint16) (*chain.Judgement, error) {
	if e.trial == nil {
		return nil, nil
	}
	j, err := e.trial.Judge(f.probe(e.view, destination, port))
	return &j, err
}

// probe is the flow's first packet, and where chains are told that it goes.
func (f flow) probe(v *view, destination netip.Addr, port uint16) chain.Probe {
	packet := f.packet(v)
	p := chain.Probe{
		Flow:       chain.Flow{Direction: f.direction, Source: f.source, Destination: destination, Protocol: f.protocol, Port: port},
		SourcePort: somePort, PublicPort: f.port, Length: len(packet.Network()), Frame: packet.Bytes(),
	}
	if f.protocol == model.TCP {
		p.TCPFlags = uint8(packets.SYN)
	}
	p.Mapped = f.direction == model.In && slices.Contains(v.outbound, f.destination) && destination != f.destination
	if p.Mapped { // the port outside is nobody's choice
		p.PublicPort = port
	}
	return p
}

// packet is the first one as it comes: to a name, it may be to any address of the pool.
func (f flow) packet(v *view) packets.Packet {
	destination := f.destination
	if !destination.IsValid() {
		destination = anyOf(v.config.Pool.Addresses)
	}
	source, to := netip.AddrPortFrom(f.source, somePort), netip.AddrPortFrom(destination, f.port)
	switch f.protocol {
	case model.TCP:
		return packets.NewTCP(source, to, packets.SYN, "")
	case model.UDP:
		return packets.NewUDP(source, to, "")
	case model.UDPLite:
		return packets.NewCovered(source, to, 0, nil)
	}
	if f.protocol.ByAddress() {
		return packets.NewIP(f.source, destination, f.protocol, make([]byte, 40)) // longer than each of their headers
	}
	return packets.NewEcho(f.source, destination, somePort, 1)
}

// ending is what the chains decided about a flow.
func (e *explainer) ending(f flow, j *chain.Judgement) api.Ending {
	if j == nil || len(j.Opinions) == 0 {
		return goOn
	}
	last := j.Opinions[len(j.Opinions)-1]
	switch last.Says {
	case chain.Drops, chain.FailsClosed:
		reason := model.Reason("drop_denied")
		if name := e.functionName(last); name == countName(config.ProtectionName, honeypot) {
			if reason = "drop_trapped"; f.protocol == model.TCP {
				reason = "answered_trap"
			}
		}
		return api.Ending{Reason: reason, Function: e.functionName(last)}
	case chain.Accepts:
		return api.Ending{Passes: true, Function: e.functionName(last)}
	}
	return goOn
}

func (e *explainer) functionName(o chain.Opinion) string {
	if o.Chain < 0 {
		return countName(config.ProtectionName, protectionFunctions(e.view.config)[o.Step])
	}
	c := e.view.config.Chains[o.Chain]
	return countName(c.Name, c.Functions[o.Step].Name)
}

// listed tells what a function of the protection said, and which entry has the address.
func (e *explainer) listed(f flow, o chain.Opinion) (says, why string) {
	remote := f.source
	if f.direction == model.Out {
		remote = f.destination
	}
	p := e.view.config.Protection
	n := namedIn(e.view.config, e.view.lists)
	spared := n.sparedBy(e.view, f.direction, remote)
	function := protectionFunctions(e.view.config)[o.Step]
	switch {
	case e.kindOf(remote) != notOurs:
		why = fmt.Sprintf("%s is the gateway's own", remote)
	case spared != "" && function == allowlist:
		why = fmt.Sprintf("%s is of %s", remote, spared)
	case spared != "":
		why = fmt.Sprintf("%s is spared", remote)
	case function == allowlist:
		why = "it has not " + remote.String()
	case function == blocklist:
		why = "it has not " + remote.String()
		if entry := n.onList(p.Blocklist, f.direction, netip.PrefixFrom(remote, remote.BitLen())); entry != "" {
			why = fmt.Sprintf("%s is of %s", remote, entry)
		}
	case function == ports:
		why = portText(p, f)
		if f.asksForNames(e.view) {
			why = "who asks the name server asks for others: honeypot and geofence are not asked"
		}
	case function == honeypot:
		switch {
		case o.Says != chain.Drops:
			why = "it is no port of the honeypot"
		case f.protocol == model.TCP:
			why = fmt.Sprintf("the SYN is answered, and who completes the handshake is banned for %s", p.Honeypot.Ban)
		default:
			why = "nobody is banned for it, for its source may be anybody's address"
		}
	default:
		if why = e.view.places.said(f.direction, remote); f.asksForNames(e.view) {
			why = "who asks the name server asks for others, wherever he is"
		}
	}
	switch o.Says {
	case chain.Drops:
		return "drop", why
	case chain.FailsClosed:
		return "fail", "it cannot say, and fails closed"
	}
	return "continue", why
}

// portText tells what is known of the port that a flow goes to.
func portText(p config.Protection, f flow) string {
	port := fmt.Sprintf("%s port %d", f.protocol, f.port)
	switch {
	case f.protocol == model.ICMP:
		return "icmp has no port"
	case p.Ignored.Has(f.protocol, f.port):
		return port + " is ignored: honeypot and geofence are not asked"
	case p.Honeypot.Ports.Has(f.protocol, f.port):
		return port + " is the honeypot's for flows from outside"
	case !p.Monitored.Empty() && !p.Monitored.Has(f.protocol, f.port):
		return port + " is not monitored: the geofence is not asked"
	}
	return port + " is as any other"
}

// chains tells what the protection and the chains said, function by function.
func (e *explainer) chains(f flow, j *chain.Judgement) {
	if j == nil {
		e.step("chain", "none", "there are none: what names and NAT let through passes")
		return
	}
	first := slices.IndexFunc(j.Opinions, func(o chain.Opinion) bool { return o.Chain >= 0 })
	if first < 0 {
		first = len(j.Opinions)
	}
	e.protection(f, j.Opinions[:first])
	chains := e.view.config.Chains
	switch {
	case !j.Passes && first == len(j.Opinions) && first > 0:
		return
	case j.Chain < 0:
		e.step("chain", "none", "no chain is for this flow")
		return
	}
	e.step("chain", chains[j.Chain].Name, "the first that matches")
	for _, o := range j.Opinions[first:] {
		use := chains[o.Chain].Functions[o.Step].Use.String()
		says, why := "continue", ""
		if chains[o.Chain].Functions[o.Step].Use == config.UseFirstBytes {
			why = ": it judges the flow by its first bytes when these come"
		}
		switch o.Says {
		case chain.Accepts:
			says, why = "accept", ": no other is asked"
		case chain.Drops:
			says = "drop"
		case chain.Jumps:
			says, why = "jump", ": on in chain "+chains[o.To].Name
		case chain.FailsOpen:
			says, why = "fail", ": it cannot say, and fails open"
		case chain.FailsClosed:
			says, why = "fail", ": it cannot say, and fails closed"
		}
		e.step(e.functionName(o), says, "%s", use+why)
	}
}
