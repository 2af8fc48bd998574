package explain

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/ruleset"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

// listed tells what a function of the protection said, and which entry has the address.
func (e *Explainer) listed(f Flow, a verdict) (says, why string) {
	remote := f.Source
	if f.Direction == model.Out {
		remote = f.Destination
	}
	p := e.State.Config.Protection
	n := ruleset.NamedIn(e.State.Config, e.State.Lists)
	exempt := n.ExemptBy(e.State.Config, e.State.Hops, f.Direction, remote)
	function := a.Name
	switch {
	case slices.Contains(e.State.Own, remote):
		why = fmt.Sprintf("%s is the gateway's own", remote)
	case exempt != "" && function == ruleset.Allowlist:
		why = fmt.Sprintf("%s is of %s", remote, exempt)
	case exempt != "":
		why = fmt.Sprintf("%s is exempt", remote)
	case function == ruleset.Allowlist:
		why = "it has not " + remote.String()
	case function == ruleset.Blocklist:
		why = "it has not " + remote.String()
		if entry := n.OnList(p.Blocklist, f.Direction, netip.PrefixFrom(remote, remote.BitLen())); entry != "" {
			why = fmt.Sprintf("%s is of %s", remote, entry)
		}
	case function == ruleset.Ports:
		why = portText(p, f)
		if f.asksForNames(e.State) {
			why = "who asks the name server asks for others: honeypot and geofence are not asked"
		}
	case function == ruleset.Honeypot:
		switch {
		case a.says != datapath.SaysDrop:
			why = "it is no port of the honeypot"
		case f.Protocol == model.TCP:
			why = fmt.Sprintf("the SYN is answered, and who completes the handshake is banned for %s", p.Honeypot.BanTime)
		default:
			why = "nobody is banned for it, for its source may be anybody's address"
		}
	default:
		if why = e.State.Place(f.Direction, remote); f.asksForNames(e.State) {
			why = "the name server is asked for others, wherever those are"
		}
	}
	switch {
	case a.says == datapath.SaysDrop:
		return "drop", why
	case a.fails():
		return "fail", "it cannot say, and fails closed"
	}
	return "continue", why
}

// portText tells what is known of the port that a flow goes to.
func portText(p config.Protection, f Flow) string {
	port := fmt.Sprintf("%s port %d", f.Protocol, f.Port)
	switch {
	case f.Protocol == model.ICMP:
		return "icmp has no port"
	case p.Ignored.Has(f.Protocol, f.Port):
		return port + " is ignored: honeypot and geofence are not asked"
	case p.Honeypot.Ports.Has(f.Protocol, f.Port):
		return port + " is the honeypot's for flows from outside"
	case !p.Monitored.Empty() && !p.Monitored.Has(f.Protocol, f.Port):
		return port + " is not monitored: the geofence is not asked"
	}
	return port + " is as any other"
}

// asksForNames reports whether a flow is for the gateway's name server outside.
func (f Flow) asksForNames(v State) bool {
	return f.Protocol != model.ICMP && netip.AddrPortFrom(f.Destination, f.Port) == v.Config.DNS.Public
}

// tell6 tells what a dry run of an IPv6 packet did, and which functions of the protection it
// has asked: in their order, until one drops.
func (e *Explainer) tell6(f Flow, steps []datapath.TraceStep, numbers map[uint32]bool) api.Ending {
	t := &telling{Explainer: e, Flow: f, told: map[datapath.TraceKind]bool{}}
	reason := model.ReasonDropInternal
	for _, s := range steps {
		if s.Kind == datapath.TraceEnd {
			reason = e.Data.Reason(s.Says)
			break
		}
		if s.Kind == datapath.TraceBan && !t.remote().IsLinkLocalUnicast() {
			t.step("ban", "continue", "%s", e.Bans.WhyNot(t.remote()))
		}
	}
	var row []verdict
	for _, name := range ruleset.ProtectionFunctions(e.State.Config) {
		number := e.State.Numbers[ruleset.Name(model.ProtectionName, name)]
		if numbers[number] {
			row = append(row, verdict{name: ruleset.Name(model.ProtectionName, name), chain: model.ProtectionName, Function: settings.Function{Name: name}})
		}
	}
	for i := range row {
		t.last = &row[i]
		if end := t.ending(reason); i == len(row)-1 && end.Function != "" {
			row[i].says = datapath.SaysDrop
		}
		if f.Protocol == model.AnyProtocol && (row[i].Name == ruleset.Ports || row[i].Name == ruleset.Honeypot) {
			continue // of an address alone they say nothing
		}
		says, why := e.listed(f, row[i])
		e.step(row[i].name, says, "%s", why)
	}
	if len(row) == 0 && reason == model.ReasonForwardedIPv6 && (f.Source.IsLinkLocalUnicast() || f.Destination.IsLinkLocalUnicast() || t.remote().IsMulticast()) {
		t.step("protection", "none", "what is link-local, and who is a group, is not asked about")
	}
	return t.end(reason)
}
