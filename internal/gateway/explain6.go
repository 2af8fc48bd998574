package gateway

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/chain"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
)

// six says what becomes of the IPv6 packet that opens a flow. The kernel has it, unless
// a ban or the protection drops it, of which the addresses alone decide
// (bpf/protection6.bpf.c).
func (e *explainer) six(f flow) (api.Ending, error) {
	remote := f.source
	if f.direction == model.Out {
		remote = f.destination
	}
	if !remote.IsLinkLocalUnicast() {
		if end, err := e.ban(remote); ends(end) || err != nil {
			return end, err
		}
	}
	return e.unbanned6(f, remote), nil
}

func (e *explainer) unbanned6(f flow, remote netip.Addr) api.Ending {
	to := f.destination
	switch {
	case to.IsValid() && (to.IsLinkLocalMulticast() || f.direction == model.Out && e.way(to) == here):
		return e.gateway(f)
	case to.IsValid() && e.way(to) == here:
		return e.protected6(f, remote, "to_gateway")
	case e.view.config.IPv6 == config.IPv6Drop:
		e.step("address", "drop", "IPv6 is not forwarded: that is what ipv6 says in the configuration")
		return dropped("drop_ipv6")
	case f.source.IsLinkLocalUnicast() || to.IsLinkLocalUnicast() || remote.IsMulticast():
		e.step("protection", "none", "what is link-local, and who is a group, is not asked about")
		return notJudged("forwarded_ipv6")
	}
	return e.protected6(f, remote, "forwarded_ipv6")
}

// protected6 is what becomes of a flow that passes unless the protection drops it.
func (e *explainer) protected6(f flow, remote netip.Addr, passes model.Reason) api.Ending {
	if f.source.IsLinkLocalUnicast() {
		return notJudged(passes)
	}
	for i, function := range protectionFunctions(e.view.config) {
		if (function == ports || function == honeypot) && f.protocol == model.AnyProtocol {
			continue // of an address alone they say nothing
		}
		o := chain.Opinion{Chain: -1, Step: i, Says: chain.Continues}
		if e.drops6(function, f, remote) {
			o.Says = chain.Drops
		}
		says, why := e.listed(f, o)
		e.step(e.functionName(o), says, "%s", why)
		if o.Says == chain.Drops {
			return e.ending(f, &chain.Judgement{Opinions: []chain.Opinion{o}})
		}
	}
	return notJudged(passes)
}

// drops6 reports whether a function of the protection drops a flow, by its remote end and
// its port.
func (e *explainer) drops6(function string, f flow, remote netip.Addr) bool {
	n, p := namedIn(e.view.config, e.view.lists), e.view.config.Protection
	has := func(list []config.Listed) bool {
		return n.onList(list, f.direction, netip.PrefixFrom(remote, remote.BitLen())) != ""
	}
	ignored := p.Ignored.Has(f.protocol, f.port)
	switch {
	case function == allowlist || function == ports || n.sparedBy(e.view, f.direction, remote) != "":
		return false
	case function == blocklist:
		return has(p.Blocklist)
	case function == honeypot:
		return f.direction == model.In && !ignored && p.Honeypot.Ports.Has(f.protocol, f.port)
	case ignored || !p.Monitored.Empty() && f.protocol != model.ICMP && f.protocol != model.AnyProtocol && !p.Monitored.Has(f.protocol, f.port):
		return false
	}
	fence, known := e.view.places.fences[f.direction]
	return known && fence.denied.Contains(remote)
}
