package gateway

import (
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/chain"
)

// sentOn asks the chains with dnat, which see a flow from outside as it comes, and
// reports whether they decide about it (static_open of bpf/include/public_open.h). They
// are not asked about who is banned.
func (e *explainer) sentOn(f flow) (decided bool, end api.Ending, err error) {
	kind := e.kindOf(f.destination)
	if e.trial == nil || kind != ofOutbound && kind != ofStatic {
		return false, goOn, nil
	}
	if banned, err := e.data.IsBanned(f.source); banned || err != nil {
		return false, goOn, err
	}
	j, to, err := e.trial.JudgeStatic(f.probe(e.view, f.destination, f.port))
	if err != nil || j.Chain < 0 {
		return false, goOn, err
	}
	end = e.ending(f, &j)
	if end.Passes && !to.IsValid() {
		e.chains(f, &j)
		e.step("dnat", "continue", "no function says where it goes: names and NAT do")
		return false, goOn, nil
	}
	if err := e.session(f, netip.AddrPort{}); err != nil {
		return true, end, err
	}
	if !f.hairpin {
		if banned, err := e.ban(f.source); ends(banned) || err != nil {
			return true, banned, err
		}
	}
	e.chains(f, &j)
	if !end.Passes {
		return true, end, nil
	}
	if !f.hairpin {
		if spoofed := e.spoofed(f); ends(spoofed) {
			return true, spoofed, nil
		}
	}
	e.step("dnat", "translate", "it goes to %s%s", endpointText(f.protocol, to), e.oneOf(&j))
	if e.way(to.Addr()) != inside { // the configuration need not know the host
		e.step("route", "drop", "%s is behind no private interface", to.Addr())
		return true, dropped("drop_no_route"), nil
	}
	return true, end, nil
}

// oneOf says what else may become of a flow that multipath has sent on: the port that it
// comes from is made up.
func (e *explainer) oneOf(j *chain.Judgement) string {
	for _, o := range j.Opinions {
		if o.Chain < 0 {
			continue
		}
		b := e.view.balances[e.functionName(o)]
		if b == nil {
			continue
		}
		return fmt.Sprintf(" when it comes from port %d; %d of %d backends are up", somePort, b.up(), len(b.config.Backends))
	}
	return ""
}
