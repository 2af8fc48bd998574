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
		o := chain.Opinion{Chain: -1, Step: i, Says: chain.Continues}
		if e.drops6(function, f.direction, remote) {
			o.Says = chain.Drops
		}
		says, why := e.listed(f, o)
		e.step(e.functionName(o), says, "%s", why)
		if o.Says == chain.Drops {
			return api.Ending{Reason: "drop_denied", Function: e.functionName(o)}
		}
	}
	return notJudged(passes)
}

// drops6 reports whether a function of the protection drops flows of a direction, by
// their remote end.
func (e *explainer) drops6(function string, d model.Direction, remote netip.Addr) bool {
	n, p := namedIn(e.view.config, e.view.lists), e.view.config.Protection
	has := func(list []config.Listed) bool {
		return n.onList(list, d, netip.PrefixFrom(remote, remote.BitLen())) != ""
	}
	switch {
	case function == allowlist || has(p.Allowlist):
		return false
	case function == blocklist:
		return has(p.Blocklist)
	}
	fence, known := e.view.places.fences[d]
	return known && fence.denied.Contains(remote)
}
