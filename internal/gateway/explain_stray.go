package gateway

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/chain"
	"github.com/realmgate/realmgate/internal/model"
)

// stray asks who a flow from outside is from that is for the gateway itself, and the
// protection about it; about one for nobody, of which only the honeypot is to know, where
// there is a honeypot (bpf/include/stray.h).
func (e *explainer) stray(f flow, forUs bool) (api.Ending, error) {
	asked := e.view.config.Protection.Given() && (forUs || !e.view.config.Protection.Honeypot.Ports.Empty())
	if f.hairpin || !asked && !forUs {
		return goOn, nil
	}
	if spoofed := e.spoofed(f); ends(spoofed) || !asked {
		return spoofed, nil
	}
	probe := f.probe(e.view, f.destination, f.port)
	probe.Ignored = f.asksForNames(e.view)
	j, err := e.trial.JudgeStray(probe)
	if err != nil {
		return goOn, err
	}
	e.protection(f, j.Opinions)
	if j.Passes {
		return goOn, nil
	}
	return e.ending(f, &j), nil
}

// asksForNames reports whether a flow is for the gateway's name server outside.
func (f flow) asksForNames(v *view) bool {
	return f.protocol != model.ICMP && netip.AddrPortFrom(f.destination, f.port) == v.config.DNS.Public
}

// unmapped is of a flow to a port of an outbound address that no private host has.
func (e *explainer) unmapped(f flow) (api.Ending, error) {
	if f.hairpin || e.view.config.Protection.Honeypot.Ports.Empty() {
		return goOn, nil
	}
	if end, err := e.ban(f.source); ends(end) || err != nil {
		return end, err
	}
	return e.stray(f, false)
}

// anyOf is the first address, or the unspecified one where there is none yet.
func anyOf(addresses []netip.Addr) netip.Addr {
	if len(addresses) == 0 {
		return netip.IPv4Unspecified()
	}
	return addresses[0]
}

// remote tells what the protection says of a source outside, whatever port it may ask for.
func (e *explainer) remote(f flow) error {
	if e.trial == nil {
		return nil
	}
	// Lists and geofence ask about the source alone: it comes to any address.
	f.protocol, f.destination = model.ICMP, anyOf(e.view.config.Pool.Addresses)
	j, err := e.trial.JudgeStray(f.probe(e.view, f.destination, 0))
	if err != nil {
		return err
	}
	var known []chain.Opinion
	for _, o := range j.Opinions {
		if name := protectionFunctions(e.view.config)[o.Step]; name != ports && name != honeypot {
			known = append(known, o)
		}
	}
	e.protection(f, known)
	return nil
}

// protection tells what functions of the protection said.
func (e *explainer) protection(f flow, opinions []chain.Opinion) {
	for _, o := range opinions {
		says, why := e.listed(f, o)
		e.step(e.functionName(o), says, "%s", why)
	}
}
