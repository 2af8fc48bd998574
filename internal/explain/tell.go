package explain

import (
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/ruleset"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

// verdict is what a function said that a dry run has asked.
type verdict struct {
	name, chain string
	settings.Function
	says uint32
}

func (a verdict) drops() bool {
	return a.says == datapath.SaysDrop || a.fails() && a.Fail != settings.FailOpen
}

func (a verdict) jumps() bool { return a.says == datapath.SaysJump && a.chainAfter() != "" }

// chainAfter is the chain that it may go on in, "" for none.
func (a verdict) chainAfter() string {
	if j, jumps := a.Settings.(nf.Jumper); jumps {
		return j.Chain()
	}
	return ""
}

func (a verdict) fails() bool {
	return a.says != datapath.SaysContinue && a.says != datapath.SaysAccept && a.says != datapath.SaysDrop && a.says != datapath.SaysToUser && !a.jumps()
}

func (a verdict) isProtection() bool { return a.chain == model.ProtectionName }

// telling tells the steps of one dry run.
type telling struct {
	*Explainer
	Flow
	functions map[uint32]verdict // by their numbers
	told      map[datapath.TraceKind]bool
	hook      uint32 // what chains are asked for just now, 0 for nothing
	chain     bool   // one was found
	last      *verdict
	hairpin   bool
	dnat      netip.Addr
	known     uint32 // sessions of the client
	limit     datapath.TraceStep
	mtu       datapath.TraceStep
}

// tell tells what a dry run did, and returns how it ended.
func (e *Explainer) tell(f Flow, steps []datapath.TraceStep) api.Ending {
	t := &telling{Explainer: e, Flow: f, functions: e.functions(), told: map[datapath.TraceKind]bool{}}
	for i, s := range steps {
		if s.Kind == datapath.TraceEnd {
			t.leave()
			return t.end(e.Data.Reason(s.Says))
		}
		if s.Kind == datapath.TraceNAT && i+1 < len(steps) && steps[i+1].Kind == datapath.TraceHairpin {
			continue
		}
		t.next(s)
	}
	return api.Ending{}
}

// functions are those of a configuration by their numbers.
func (e *Explainer) functions() map[uint32]verdict {
	all := map[uint32]verdict{}
	add := func(chain string, f settings.Function) {
		name := ruleset.Name(chain, f.Name)
		all[e.State.Numbers[name]] = verdict{name: name, chain: chain, Function: f}
	}
	for _, f := range ruleset.ProtectionFunctions(e.State.Config) {
		add(model.ProtectionName, settings.Function{Name: f})
	}
	for _, c := range e.State.Config.Chains {
		for _, f := range c.Functions {
			add(c.Name, f)
		}
	}
	return all
}

// next tells a step.
func (t *telling) next(s datapath.TraceStep) {
	switch s.Kind {
	case datapath.TraceChain:
		if t.last == nil || !t.last.jumps() {
			t.chain = true
			t.step("chain", t.State.Config.Chains[s.Number-1].Name, "the first that matches")
		}
		return
	case datapath.TraceFunction:
		t.function(s)
		return
	}
	if t.leave(); t.told[s.Kind] && s.Kind != datapath.TraceAsk {
		return
	}
	t.told[s.Kind] = true
	end := endpointText(t.Protocol, netip.AddrPortFrom(s.Address, s.Port))
	switch s.Kind {
	case datapath.TraceFind:
		t.sessions()
	case datapath.TraceBan:
		t.told[s.Kind] = s.Says == 0
		if s.Says == 0 && !t.hairpin {
			t.step("ban", "continue", "%s", t.Bans.WhyNot(s.Address))
		}
	case datapath.TraceMapping:
		if s.Says != 0 {
			t.step("mapping", "continue", "it is of %s", end)
		}
	case datapath.TraceHost:
		if !s.Address.IsUnspecified() {
			t.step("host", "continue", "it is %s alone", end)
		}
	case datapath.TraceBinding:
		t.step("binding", "continue", "it is %s, as %s", end, t.State.Name(s.Number))
	case datapath.TraceAsk:
		t.hook, t.chain, t.last = s.Says, false, nil
		if s.Number == 0 {
			t.hook = 0
			t.step("chain", "none", "there are none: what names and NAT let through passes")
		}
	case datapath.TraceDnat:
		t.sentTo(s.Address, end)
	case datapath.TraceFiltering:
		if s.Says == 0 {
			t.step("filtering", "continue", "%s lets it in", t.State.Config.Outbound.Filtering)
		} else {
			t.told[s.Kind] = false
		}
	case datapath.TraceKnown:
		if t.known = s.Number; !t.isFull() {
			t.step("claim", "continue", "%s is known there, with %d sessions", t.Source, s.Number)
		}
	case datapath.TraceClaim:
		t.step("claim", "continue", "%s was answered, and so many may come by that: %d", s.Address, s.Number)
	case datapath.TraceLimit:
		t.limit = s
	case datapath.TraceNAT:
		if s.Address == t.Source {
			t.step("nat", "continue", "outbound.except has %s: it leaves as it is", t.Destination)
		} else {
			t.step("nat", "translate", "it leaves as %s", s.Address)
		}
	case datapath.TraceHairpin:
		t.step("hairpin", "continue", "it comes in again, from %s", end)
		t.hairpin, t.Direction, t.Source = true, model.In, s.Address
		t.told = map[datapath.TraceKind]bool{datapath.TraceFind: true}
	case datapath.TraceCookie:
		t.readsName(s.Says != 0)
	case datapath.TraceOverflow:
		t.step("cookie", "answer", "%s has no room for more clients who have not proved their addresses: a SYN is answered by a cookie, and nothing is kept", t.Destination)
	case datapath.TraceMTU:
		t.mtu = s
	case datapath.TraceMSS:
		t.mss(s.Number)
	}
}

// readsName tells what comes before anybody knows which name the client wants, and which one is asked about.
func (t *telling) readsName(cookie bool) {
	if cookie {
		t.step("cookie", "answer", "a SYN to %s is answered by a cookie, and nothing is kept", t.Destination)
	}
	switch {
	case t.name == nil && t.says == "":
		t.step("name", "wait", "the client's first data name whom it wants: ask with --name NAME")
	case t.name == nil: // which ends it
	case t.says != "" && t.says != t.name.Name:
		t.step("name", "web", "%s leads to %s, which is %s, at the web address %s", t.says, t.name.Name, t.host(), t.Destination)
	default:
		t.step("name", "web", "%s is %s, at the web address %s", t.name.Name, t.host(), t.Destination)
	}
}

// redirects reports whether the flow is to a port of a web name at which nothing but a redirection is said.
func (t *telling) redirects() bool {
	return t.name != nil && t.name.Service != nil && t.name.Service.Redirects(t.Protocol, t.Port)
}

// host is the endpoint that the flow's name stands for.
func (t *telling) host() string {
	return endpointText(t.Protocol, netip.AddrPortFrom(t.name.Host.Address, t.lease().Port))
}

// leave is where chains have been asked.
func (t *telling) leave() {
	if t.hook == datapath.AskFlow && !t.chain && (t.last == nil || !t.last.drops()) {
		t.step("chain", "none", "no chain is for this flow")
	}
	if t.hook != datapath.AskDnat { // of which TraceDnat tells
		t.chain = false
	}
	t.hook = 0
}

func (t *telling) isFull() bool {
	most := t.State.Config.Pool.Quotas.ClientSessions
	return most > 0 && int(t.known) >= most
}

// sentTo tells where chains send the flow. On AskDnat none may be for it.
func (t *telling) sentTo(to netip.Addr, end string) {
	chain := t.chain
	t.chain = false
	switch {
	case !to.IsUnspecified():
		t.dnat = to
		t.step("dnat", "translate", "it goes to %s%s", end, t.oneOf())
	case chain:
		t.step("dnat", "continue", "no function says where it goes: names and NAT do")
	}
	if to.IsUnspecified() {
		t.last = nil // it has decided about nothing
	}
}

// oneOf says what else may become of a flow that multipath has sent on: nobody has said the
// port that it comes from.
func (t *telling) oneOf() string {
	for _, s := range t.steps {
		if up, all := t.State.Backends(s.Step); all > 0 {
			return fmt.Sprintf(" when it comes from port %d; %d of %d backends are up", t.From, up, all)
		}
	}
	return ""
}

// function tells what a function said.
func (t *telling) function(s datapath.TraceStep) {
	f := t.functions[s.Number]
	f.says = s.Says
	t.last = &f
	if f.isProtection() && (t.told[datapath.TraceCookie] || t.told[datapath.TraceOverflow]) && !f.drops() {
		return // it has said so of the SYN
	}
	if f.isProtection() {
		says, why := t.listed(t.Flow, f)
		t.step(f.name, says, "%s", why)
		return
	}
	says, why := "continue", ""
	switch {
	case f.says == datapath.SaysAccept:
		says, why = "accept", ": no other is asked"
	case f.says == datapath.SaysDrop:
		says = "drop"
	case f.jumps():
		says, why = "jump", ": on in chain "+f.chainAfter()
	case f.fails() && f.Fail == settings.FailOpen:
		says, why = "fail", ": it cannot say, and fails open"
	case f.fails():
		says, why = "fail", ": it cannot say, and fails closed"
	default:
		if e, excuses := f.Settings.(nf.Excuser); excuses {
			why = e.GoesOn()
		}
	}
	t.step(f.name, says, "%s", f.Use+why)
}

// ending is how the flow ends that a function has judged last.
func (t *telling) ending(reason model.Reason) api.Ending {
	end := api.Ending{Reason: reason, Passes: !reason.IsDrop() && reason != model.ReasonAnsweredHoneypot}
	switch reason {
	case model.ReasonForwarded, model.ReasonForwardedByStack, model.ReasonForwardedNoNeighbour:
		end.Reason = ""
		if t.last != nil && t.last.says == datapath.SaysAccept {
			end.Function = t.last.name
		}
	case model.ReasonDropDenied, model.ReasonDropHoneypot, model.ReasonAnsweredHoneypot:
		if t.last != nil {
			end.Function = t.last.name
		}
	}
	return end
}
