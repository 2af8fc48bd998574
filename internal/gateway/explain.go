package gateway

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/chain"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/registry"
)

// explainer finds out what would decide about a flow, in the data plane's order.
type explainer struct {
	*Gateway
	view  *view
	trial *chain.Trial // nil where nothing judges flows
	steps []api.ExplainStep
}

// flow is a flow as its first packet comes.
type flow struct {
	direction           model.Direction
	protocol            model.Protocol
	source, destination netip.Addr      // which is not known of a flow that goes to a name
	port                uint16          // of the destination
	name                *registry.Entry // from outside: by it the flow gets a pool address
	hairpin             bool            // it came from inside, its source is translated already
}

// goOn is of a flow that nothing has decided about.
var goOn = api.Ending{Passes: true}

func dropped(why model.Reason) api.Ending { return api.Ending{Reason: why} }

// notJudged is of what is left to the kernel as it is.
func notJudged(why model.Reason) api.Ending { return api.Ending{Passes: true, Reason: why} }

// ends reports whether a flow has come to its end.
func ends(e api.Ending) bool { return e != goOn }

func (e *explainer) step(step, says, format string, args ...any) {
	e.steps = append(e.steps, api.ExplainStep{Step: step, Says: says, Why: fmt.Sprintf(format, args...)})
}

// Explain implements api.Gateway. The chains in force are built once more, with tables
// of their own, and stay in force meanwhile.
func (g *Gateway) Explain(r api.ExplainRequest) (x api.Explanation, err error) {
	g.reload.Lock()
	defer g.reload.Unlock()
	e := &explainer{Gateway: g, view: g.view.Load()}
	x = api.Explanation{From: r.Address, To: r.ToName.String(), Generation: e.view.generation}
	if r.ToAddress.IsValid() {
		x.To = r.ToAddress.String()
	}
	f, err := e.flow(r)
	if err != nil {
		return x, err
	}
	if f.source.Is6() {
		x.Direction, x.Protocol, x.Port = f.direction.String(), f.protocol, f.port
		x.Ending, err = e.six(f)
		x.Steps = e.steps
		return x, err
	}
	if judges(e.view.config) {
		if e.trial, err = chain.NewTrial(policyOf(e.view), &g.states); err != nil {
			return x, err
		}
		defer e.trial.Close()
	}
	x.Direction, x.Protocol, x.Port = f.direction.String(), f.protocol, f.port
	x.Ending, err = e.parse(f)
	switch {
	case ends(x.Ending) || err != nil:
	case f.direction == model.Out:
		x.Ending, err = e.out(f)
	case f.name == nil && !f.destination.IsValid():
		x.Ending, x.Services, err = e.services(f)
	default:
		x.Ending, err = e.in(f)
	}
	x.Steps = e.steps
	return x, err
}

// flow is the flow that a request means.
func (e *explainer) flow(r api.ExplainRequest) (f flow, err error) {
	f = flow{direction: r.Direction, protocol: r.Protocol, source: r.Address, destination: r.ToAddress, port: r.Port}
	if f.direction == model.AnyDirection {
		f.direction = model.In
		if _, known := e.view.registry.ByAddress(r.Address); known || e.way(r.Address) == inside {
			f.direction = model.Out
		}
	}
	switch {
	case r.ToName != "":
		err = f.toName(e.view, r)
	case !r.ToAddress.IsValid() && f.direction == model.Out:
		err = fmt.Errorf("a flow from %s would go out: say where to", r.Address)
	}
	return f, err
}

// toName makes the flow go to what a name stands for.
func (f *flow) toName(v *view, r api.ExplainRequest) error {
	entry, known := v.registry.Lookup(r.ToName)
	if !known {
		return fmt.Errorf("there is no name %s: see realmgate hosts", r.ToName)
	}
	inside := f.direction == model.Out // where names are private addresses
	switch {
	case entry.Service != nil:
		port, err := chosen(r, entry.Service.Ports)
		if err != nil {
			return err
		}
		f.protocol, f.port = port.Protocol, port.Port
		if inside {
			f.port = port.To
		}
	case !inside:
		return fmt.Errorf("%s opens nothing from outside: see realmgate hosts", r.ToName)
	case f.protocol == model.AnyProtocol:
		return fmt.Errorf("%s is a host: say which protocol: tcp, udp or icmp", r.ToName)
	case f.protocol.HasPorts() && f.port == 0:
		return fmt.Errorf("%s is a host: say which port of %s", r.ToName, f.protocol)
	}
	if inside {
		f.destination = entry.Host.Address
	} else {
		f.name = &entry
	}
	return nil
}

// chosen is the port of a service that a request means: the one that it names, or the only one.
func chosen(r api.ExplainRequest, ports []model.Port) (model.Port, error) {
	var found []model.Port
	for _, p := range ports {
		switch {
		case p.Protocol == model.AnyProtocol && r.Protocol != model.AnyProtocol && (!r.Protocol.HasPorts() || r.Port != 0):
			return model.Port{Protocol: r.Protocol, Port: r.Port, To: r.Port}, nil
		case p.Protocol == model.AnyProtocol:
			return p, fmt.Errorf("%s opens everything: say which protocol, and of tcp and udp which port", r.ToName)
		case (r.Protocol == model.AnyProtocol || r.Protocol == p.Protocol) && (r.Port == 0 || r.Port == p.Port):
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return model.Port{}, fmt.Errorf("%s does not open that: it opens %s", r.ToName, portTexts(ports))
	}
	return model.Port{}, fmt.Errorf("%s opens %s: say which protocol and port", r.ToName, portTexts(ports))
}

func portTexts(ports []model.Port) string { return strings.Join(model.PortTexts(ports), ", ") }

// services looks at all that a source outside may ask for by the names of services.
func (e *explainer) services(f flow) (api.Ending, []api.ExplainService, error) {
	if end, err := e.fromOutside(f); ends(end) || err != nil {
		return end, nil, err
	}
	if err := e.remote(f); err != nil {
		return goOn, nil, err
	}
	list := []api.ExplainService{}
	all := dropped("")
	for _, h := range e.view.registry.Hosts() {
		for _, s := range h.Services {
			for _, p := range s.Ports {
				if s.All {
					continue // no port says what to ask about
				}
				f.name, f.protocol, f.port = &registry.Entry{Name: s.Name, Host: h, Service: s}, p.Protocol, p.Port
				j, err := e.judge(f, h.Address, p.To)
				if err != nil {
					return all, nil, err
				}
				end := e.ending(f, j)
				all.Passes = all.Passes || end.Passes
				list = append(list, api.ExplainService{Name: s.Name.String(), Protocol: p.Protocol, Port: p.Port, Ending: end})
			}
		}
	}
	return all, list, nil
}

// out goes a flow's way from inside.
func (e *explainer) out(f flow) (api.Ending, error) {
	if end, err := e.destinationOut(f); ends(end) || err != nil {
		return end, err
	}
	if err := e.session(f, netip.AddrPort{}); err != nil {
		return goOn, err
	}
	if end := e.elsewhere(f); ends(end) {
		return end, nil
	}
	if end, err := e.ban(f.destination); ends(end) || err != nil {
		return end, err
	}
	j, err := e.judge(f, f.destination, f.port)
	if err != nil {
		return goOn, err
	}
	e.chains(f, j)
	end := e.ending(f, j)
	if !end.Passes {
		return end, nil
	}
	external, err := e.outside(f)
	if err != nil {
		return goOn, err
	}
	if !external.IsValid() {
		e.step("nat", "drop", "no outbound address lives")
		return dropped("drop_no_address"), nil
	}
	if end, err := e.hostLimits(f); ends(end) || err != nil {
		return end, err
	}
	if end, err := e.rival(f, external); ends(end) || err != nil {
		return end, err
	}
	switch {
	case e.kindOf(f.destination) == notOurs:
		if p, excepted := e.excepted(f.destination); excepted {
			e.step("nat", "continue", "outbound.except has %s: it leaves as it is", p)
		} else {
			e.step("nat", "translate", "it leaves as %s", external)
		}
		e.mss(f, f.source, f.destination)
		return end, nil
	}
	e.step("hairpin", "continue", "it comes in again, from %s", external)
	f.direction, f.source, f.hairpin = model.In, external, true
	return e.in(f)
}

// in goes a flow's way from outside.
func (e *explainer) in(f flow) (api.Ending, error) {
	if decided, end, err := e.sentOn(f); decided || err != nil {
		return end, err
	}
	private, end, err := e.meets(f)
	if ends(end) || err != nil {
		return end, err
	}
	if err := e.session(f, private); err != nil {
		return goOn, err
	}
	if !f.hairpin {
		if end, err := e.fromOutside(f); ends(end) || err != nil {
			return end, err
		}
	}
	private, end, err = e.opens(f, private)
	if ends(end) || err != nil {
		return end, err
	}
	j, err := e.judge(f, private.Addr(), private.Port())
	if err != nil {
		return goOn, err
	}
	e.chains(f, j)
	if end = e.ending(f, j); !end.Passes {
		return end, nil
	}
	if last, err := e.admits(f, private); ends(last) || err != nil {
		return last, err
	}
	if last, err := e.remoteLimits(f); ends(last) || err != nil {
		return last, err
	}
	e.mss(f, f.source, private.Addr())
	return end, nil
}

// kind is what an address is to the data plane.
type kind uint8

const (
	notOurs kind = iota
	ofPool
	ofOutbound
	ofStatic
	ofHost // one_to_one
)

// kindFor is what a flow's destination is to it: where services have ports of an outbound address, these are the pool's.
func (e *explainer) kindFor(f flow) (kind, error) {
	k := e.kindOf(f.destination)
	if k != ofOutbound || !e.view.lendsPorts(f.destination) {
		return k, nil
	}
	_, _, bound, err := e.binding(f)
	if bound {
		k = ofPool
	}
	return k, err
}

func (e *explainer) kindOf(a netip.Addr) kind {
	switch {
	case slices.Contains(e.view.outbound, a):
		return ofOutbound
	case slices.Contains(e.view.config.Pool.Addresses, a):
		return ofPool
	case slices.Contains(e.view.static.addresses, a):
		return ofStatic
	case slices.Contains(e.view.config.OneToOneAddresses(), a):
		return ofHost
	}
	return notOurs
}
