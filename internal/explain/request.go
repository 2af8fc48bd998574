package explain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

// flowOf is the flow that a request means.
func (e *Explainer) flowOf(r api.ExplainRequest) (f Flow, err error) {
	f = Flow{Direction: r.Direction, Protocol: r.Protocol, Source: r.Address, Destination: r.ToAddress, Port: r.Port}
	if f.Direction == model.AnyDirection {
		f.Direction = model.In
		if _, known := e.State.Registry.ByAddress(r.Address); known || e.Inside(r.Address) {
			f.Direction = model.Out
		}
	}
	switch {
	case r.Says != "":
		err = f.saysName(e.State, r.Says)
	case r.ToName != "":
		err = f.toName(e.State, r)
	case !r.ToAddress.IsValid() && f.Direction == model.Out:
		err = fmt.Errorf("a flow from %s would go out: say where to", r.Address)
	}
	return f, err
}

// toName makes the flow go to what a name stands for.
func (f *Flow) toName(v State, r api.ExplainRequest) error {
	entry, known := v.Registry.Lookup(r.ToName)
	if !known {
		return fmt.Errorf("there is no name %s: see realmgate hosts", r.ToName)
	}
	inside := f.Direction == model.Out // where names are private addresses
	switch {
	case entry.Service != nil:
		port, err := chosen(r, entry.Service.Ports)
		if err != nil {
			return err
		}
		f.Protocol, f.Port = port.Protocol, port.Port
		if inside {
			f.Port = port.To
		}
	case !inside:
		return fmt.Errorf("%s opens nothing from outside: see realmgate hosts", r.ToName)
	case f.Protocol == model.AnyProtocol:
		return fmt.Errorf("%s is a host: say which protocol: tcp, udp or icmp", r.ToName)
	case f.Protocol.HasPorts() && f.Port == 0:
		return fmt.Errorf("%s is a host: say which port of %s", r.ToName, f.Protocol)
	}
	if inside {
		f.Destination = entry.Host.Address
	} else {
		f.name = &entry
	}
	return nil
}

// saysName makes the flow one of a client whose connection names name at a web address: the one where it is answered, if
// none was asked for.
func (f *Flow) saysName(v State, name model.Name) error {
	web := v.Config.Web.Addresses
	if len(web) == 0 {
		return errors.New("no names are read from connections: there are no web.addresses")
	}
	if f.Destination.IsValid() && !slices.Contains(web, f.Destination) {
		return fmt.Errorf("no names are read at %s: it is none of web.addresses", f.Destination)
	}
	if f.Protocol == model.AnyProtocol {
		f.Protocol = model.TCP
	}
	f.Port = cmp.Or(f.Port, 443)
	f.says = name
	entry, known := v.WebName(name.String(), f.Protocol, f.Port)
	if known {
		f.name = &entry
	}
	switch {
	case f.Destination.IsValid():
	case known:
		f.Destination = v.WebAddress(entry.Host.Name)
	default:
		f.Destination = web[0]
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
