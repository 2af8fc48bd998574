package gateway

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// meets says whom a flow from outside is for, as far as its destination tells: the
// private endpoint, unless a reservation has to say.
func (e *explainer) meets(f flow) (private netip.AddrPort, end api.Ending, err error) {
	kind, err := e.kindFor(f)
	switch {
	case err != nil:
		return private, goOn, err
	case f.name != nil:
		return e.named(f), goOn, nil
	case kind == ofPool && !f.hairpin && e.view.lendsPorts(f.destination) && e.listens(f.destination, f.protocol, f.port):
		end, err = e.toGateway(f)
		return private, end, err
	case kind == ofPool, kind == ofStatic:
		return private, goOn, nil
	case kind == ofHost:
		return e.ownHost(f), goOn, nil
	case kind == ofOutbound:
		return e.mapped(f)
	case e.way(f.destination) == here:
		end, err = e.toGateway(f)
		return private, end, err
	}
	if _, excepted := e.excepted(f.source); excepted && e.way(f.destination) == inside {
		e.step("address", "drop", "from %s, of outbound.except, answers come in, and nothing is opened: hosts are reached by name", f.source)
		return private, dropped("drop_not_for_us"), nil
	}
	e.step("address", "drop", "%s is neither of the pool nor outbound: hosts are reached by name", f.destination)
	return private, dropped("drop_not_for_us"), nil
}

// toGateway leaves a flow to the kernel, unless it comes from where its source is not, or
// from outside and is banned, or the protection drops it.
func (e *explainer) toGateway(f flow) (api.Ending, error) {
	if f.direction == model.In {
		if end, err := e.ban(f.source); ends(end) || err != nil {
			return end, err
		}
		if end, err := e.stray(f, true); ends(end) || err != nil {
			return end, err
		}
	} else if end := e.elsewhere(f); ends(end) {
		return end, nil
	}
	return e.gateway(f), nil
}

// toLink leaves what is for all on a link to the kernel; the protection is not asked.
func (e *explainer) toLink(f flow) (api.Ending, error) {
	if f.direction == model.In {
		if end, err := e.ban(f.source); ends(end) || err != nil {
			return end, err
		}
	}
	return e.gateway(f), nil
}

func (e *explainer) gateway(f flow) api.Ending {
	e.step("address", "gateway", "%s is for the gateway itself", f.destination)
	if f.direction == model.In && !f.hairpin && f.protocol == model.UDP && f.asksForNames(e.view) && e.view.config.DNS.Verify != config.VerifyNone {
		e.step("question", "continue", "of a lent name who has not proved its address is told to come by TCP; other questions reach the daemon, within limits")
	}
	return notJudged("to_gateway")
}

// named is the private endpoint that a name stands for.
func (e *explainer) named(f flow) netip.AddrPort {
	port, service := f.port, f.name.Service
	for _, p := range service.Ports {
		if p.Protocol == f.protocol && p.Port == f.port {
			port = p.To
		}
	}
	private := netip.AddrPortFrom(f.name.Host.Address, port)
	e.step("name", "lend", "%s is %s", f.name.Name, endpointText(f.protocol, private))
	pool, _ := e.pool.Statistics()
	switch address, stands := e.pool.Place(service.Name); {
	case stands:
		e.step("pool", "lend", "it has %s; quotas are not looked at", address)
	case pool.Free > 0:
		e.step("pool", "lend", "%d of %d addresses are free; quotas are not looked at", pool.Free, pool.Addresses)
	case len(e.view.inParts()) > 0:
		e.step("pool", "wait", "somebody has its ports of the pool's addresses: it gets them when they have rested, or none")
	default:
		e.step("pool", "wait", "none of %d addresses is free: it gets one that has rested, or none", pool.Addresses)
	}
	return private
}

func endpointText(p model.Protocol, a netip.AddrPort) string {
	if !p.HasPorts() {
		return p.String() + " of " + a.Addr().String()
	}
	return p.String() + " " + a.String()
}

// mapped is the private endpoint that has a port of an outbound address.
func (e *explainer) mapped(f flow) (private netip.AddrPort, end api.Ending, err error) {
	if f.protocol.ByAddress() {
		return e.basicIn(f)
	}
	private, known, err := e.data.MappedTo(f.protocol, netip.AddrPortFrom(f.destination, f.port))
	switch {
	case err != nil:
		return private, goOn, err
	case known:
		e.step("mapping", "continue", "it is of %s", endpointText(f.protocol, private))
		return private, goOn, nil
	case !f.hairpin && e.isOwn(f.destination):
		end, err = e.toGateway(f)
		return private, end, err
	}
	if end, err = e.unmapped(f); ends(end) || err != nil {
		return private, end, err
	}
	e.step("mapping", "drop", "no private host has that port")
	return private, dropped("drop_no_mapping"), nil
}

func (e *explainer) isOwn(a netip.Addr) bool {
	own := e.own.Load()
	return own != nil && (*own)[a]
}

// opens is the private endpoint of a session that the flow may open.
func (e *explainer) opens(f flow, private netip.AddrPort) (netip.AddrPort, api.Ending, error) {
	kind, err := e.kindFor(f)
	if f.name != nil || kind == ofOutbound || kind == ofHost || err != nil {
		return private, goOn, err
	}
	b, port, found, err := e.binding(f)
	own := !f.hairpin && e.isOwn(f.destination)
	if err == nil && !found {
		if end, err := e.stray(f, own); ends(end) || err != nil {
			return private, end, err
		}
	}
	switch {
	case err != nil:
		return private, goOn, err
	case !found && own:
		return private, e.gateway(f), nil
	case !found && kind == ofStatic:
		e.step("dnat", "drop", "no chain sends it on, and nothing else is at %s", f.destination)
		return private, dropped("drop_no_binding"), nil
	case !found:
		e.step("binding", "drop", "no service has that port of the address now: ask for a name first")
		return private, dropped("drop_no_binding"), nil
	}
	private = netip.AddrPortFrom(b.Host, port)
	e.step("binding", "continue", "it is %s, as %s", endpointText(f.protocol, private), e.view.names[b.Name])
	if !e.view.opens(b.Host, f.protocol, port) {
		e.step("service", "drop", "it is closed")
		return private, dropped("drop_service_closed"), nil
	}
	return private, goOn, nil
}

// binding is the one that the flow meets at a pool address, and the port of its host.
func (e *explainer) binding(f flow) (datapath.Binding, uint16, bool, error) {
	return e.data.BoundTo(model.Tuple{
		Protocol: f.protocol, Source: netip.AddrPortFrom(f.source, somePort), Destination: netip.AddrPortFrom(f.destination, f.port),
	})
}

// opens reports whether some service opens a port of a host.
func (v *view) opens(host netip.Addr, protocol model.Protocol, port uint16) bool {
	for _, s := range v.services() {
		if s.Host == host && (s.Protocol == model.AnyProtocol || s.Protocol == protocol && (s.Port == port || protocol == model.ICMP)) {
			return true
		}
	}
	return false
}

// admits is what comes after the chains: whether the client may use a binding, or the filtering of a mapping.
func (e *explainer) admits(f flow, private netip.AddrPort) (api.Ending, error) {
	if f.name != nil {
		return goOn, nil
	}
	kind, err := e.kindFor(f)
	if err != nil {
		return goOn, err
	}
	if kind != ofOutbound {
		return e.claims(f)
	}
	if f.protocol.ByAddress() { // who has a session there
		return goOn, nil
	}
	return e.filtering(f, private)
}

// claims says whether the client is known to the binding, or may claim it.
func (e *explainer) claims(f flow) (api.Ending, error) {
	b, _, found, err := e.binding(f)
	if err != nil || !found {
		return goOn, err
	}
	sessions, known, err := e.data.KnownTo(b.ID, f.source, f.protocol)
	if err != nil {
		return goOn, err
	}
	if most := e.view.config.Pool.Quotas.ClientSessions; known && sessions >= most {
		e.step("claim", "drop", "%s has %d sessions with it, the most that a client may (TCP and all others count apart)", f.source, sessions)
		return dropped("drop_client_limit"), nil
	}
	if known {
		e.step("claim", "continue", "%s is known there, with %d sessions", f.source, sessions)
		return goOn, nil
	}
	r, found, err := e.data.ClaimFor(b.ID, f.source)
	if err != nil {
		return goOn, err
	}
	if !found {
		e.step("claim", "drop", "no answer is left that %s could come by", f.source)
		return dropped("drop_no_reservation"), nil
	}
	e.step("claim", "continue", "%s was answered, and so many may come by that: %d", r.Asker, r.Claims)
	return goOn, nil
}

// filtering is mapping_admits of bpf/include/public_open.h.
func (e *explainer) filtering(f flow, private netip.AddrPort) (api.Ending, error) {
	filtering := e.view.config.Outbound.Filtering
	admits := filtering == model.EndpointIndependent
	if filtering == model.AddressDependent {
		err := e.data.Sessions(func(s datapath.Session) {
			admits = admits || s.Protocol == f.protocol && s.Private == private && s.Remote.Addr() == f.source &&
				(s.Origin == "inside" || s.Origin == "mapping") // which have no mapping
		})
		if err != nil {
			return goOn, err
		}
	}
	if admits {
		e.step("filtering", "continue", "%s lets it in", filtering)
		return goOn, nil
	}
	e.step("filtering", "drop", "%s: the host has sent nothing there", filtering)
	return dropped("drop_filtered"), nil
}
