package daemon

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/registry"
	"github.com/realmgate/realmgate/internal/ruleset"
)

// explainer runs the first packets of flows through the data plane, dry, and tells what came of them.
type explainer struct {
	*Daemon
	view  *view
	dries map[datapath.Mode]*datapath.Dry
	steps []api.ExplainStep
}

// flow is a flow as its first packet comes.
type flow struct {
	direction           model.Direction
	protocol            model.Protocol
	source, destination netip.Addr      // which is not known of a flow that goes to a name
	from, port          uint16          // of the source, which run takes, and of the destination
	name                *registry.Entry // from outside: by it the flow gets a pool address
}

func dropped(why model.Reason) api.Ending { return api.Ending{Reason: why} }

func (e *explainer) step(step, says, format string, args ...any) {
	e.steps = append(e.steps, api.ExplainStep{Step: step, Says: says, Why: fmt.Sprintf(format, args...)})
}

// Explain implements api.Gateway. The chains in force are built once more, and stay in
// force meanwhile.
func (g *Daemon) Explain(r api.ExplainRequest) (api.Explanation, error) {
	g.reload.Lock()
	defer g.reload.Unlock()
	e := g.newExplainer()
	defer e.close()
	return e.explain(r)
}

func (g *Daemon) newExplainer() *explainer {
	return &explainer{Daemon: g, view: g.view.Load(), dries: map[datapath.Mode]*datapath.Dry{}}
}

func (e *explainer) close() {
	for mode, dry := range e.dries {
		if err := dry.Close(); err != nil {
			e.log.Warn("explain close failed", "mode", mode, "error", err)
		}
	}
}

// dry is the data plane of a mode, for packets that nobody sent.
func (e *explainer) dry(mode datapath.Mode) (*datapath.Dry, error) {
	if dry := e.dries[mode]; dry != nil {
		return dry, nil
	}
	states := e.plane.States.Look()
	defer states.Forget()
	dry, err := e.data.OpenDry(mode, buildChains(e.view, states))
	if err == nil {
		e.dries[mode] = dry
	}
	return dry, err
}

func (e *explainer) explain(r api.ExplainRequest) (x api.Explanation, err error) {
	x = api.Explanation{From: r.Address, To: r.ToName.String(), Generation: e.view.generation}
	if r.ToAddress.IsValid() {
		x.To = r.ToAddress.String()
	}
	f, err := e.flow(r)
	if err != nil {
		return x, err
	}
	e.steps = nil
	x.Direction, x.Protocol, x.Port = f.direction.String(), f.protocol, f.port
	switch {
	case f.source.Is6():
		x.Ending, err = e.six(f)
	case f.name == nil && !f.destination.IsValid():
		x.Ending, x.Services, err = e.services(f)
	default:
		x.Ending, err = e.four(f)
	}
	x.Steps = e.steps
	return x, err
}

// four is how an IPv4 flow ends.
func (e *explainer) four(f flow) (api.Ending, error) {
	if f.name != nil {
		e.named(&f)
	}
	steps, err := e.run(&f)
	if err != nil {
		return api.Ending{}, err
	}
	return e.tell(f, steps), nil
}

// flow is the flow that a request means.
func (e *explainer) flow(r api.ExplainRequest) (f flow, err error) {
	f = flow{direction: r.Direction, protocol: r.Protocol, source: r.Address, destination: r.ToAddress, port: r.Port}
	if f.direction == model.AnyDirection {
		f.direction = model.In
		if _, known := e.view.realm.Registry.ByAddress(r.Address); known || e.ledTo(r.Address) {
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
	entry, known := v.realm.Registry.Lookup(r.ToName)
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
func (e *explainer) services(f flow) (all api.Ending, list []api.ExplainService, err error) {
	var about []api.ExplainStep
	for _, h := range e.view.realm.Registry.Hosts() {
		for _, s := range h.Services {
			for _, p := range s.Ports {
				if s.All {
					continue // no port says what to ask about
				}
				f.name, f.protocol, f.port = &registry.Entry{Name: s.Name, Host: h, Service: s}, p.Protocol, p.Port
				end, err := e.silently(f)
				if err != nil {
					return all, nil, err
				}
				if about == nil {
					about = aboutSource(e.steps)
				}
				e.steps = about
				if end.Reason == model.ReasonDropBadAddress || end.Reason == model.ReasonDropBanned || end.Reason == model.ReasonDropSpoofedSource {
					return end, nil, nil // whatever it asks for
				}
				all.Passes = all.Passes || end.Passes
				list = append(list, api.ExplainService{Name: s.Name.String(), Protocol: p.Protocol, Port: p.Port, Ending: end})
			}
		}
	}
	return all, list, nil
}

// aboutSource are the steps that are the same whatever a source outside asks for.
func aboutSource(steps []api.ExplainStep) []api.ExplainStep {
	return slices.DeleteFunc(steps, func(s api.ExplainStep) bool {
		list, listed := strings.CutPrefix(s.Step, ruleset.Name(config.ProtectionName, ""))
		return s.Step != "ban" && s.Step != "address" && (!listed || list == ruleset.Ports || list == ruleset.Honeypot)
	})
}

// silently is how a flow to a name ends, without what is told of the name.
func (e *explainer) silently(f flow) (api.Ending, error) {
	e.steps = nil
	f.destination = e.lendable(f.name.Service)
	steps, err := e.run(&f)
	if err != nil {
		return api.Ending{}, err
	}
	return e.tell(f, steps), nil
}
