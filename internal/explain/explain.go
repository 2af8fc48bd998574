package explain

import (
	"errors"
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

// State is what is in force while flows are explained.
type State struct {
	Config     *config.Config
	Generation uint32
	Registry   *registry.Registry
	Name       func(number uint32) model.Name // "" of none
	Numbers    ruleset.Numbers                // of functions
	Lists      map[string]*model.AddressSet
	Hops       []netip.Addr // next hops, who are exempt
	Own        []netip.Addr // that the data plane answers for
	Dnat       []netip.Addr // of these, those that only dnat has
	Shared     []netip.Addr // of these, those of which services get ports alone
	// WebAddress is where the web names of a host are answered.
	WebAddress func(host model.Name) netip.Addr
	// WebName is whom a connection reaches that names name at a port of a web address.
	WebName func(name string, protocol model.Protocol, port uint16) (registry.Entry, bool)
	// Place says where an address is, and what decides about it there.
	Place func(model.Direction, netip.Addr) string
	// Backends counts the backends of a function, 0 where it has none.
	Backends func(function string) (up, all int)
}

// Data knows what is open. *datapath.Datapath is one.
type Data interface {
	Interfaces() []datapath.Interface
	Sessions(visit func(datapath.Session)) error
	CheckedNow(datapath.Session) (bool, error)
	Reason(number uint32) model.Reason
}

// Bans say why an address is banned, or is not. *ban.Service is one.
type Bans interface {
	Why(netip.Addr) string
	WhyNot(netip.Addr) string
}

// Pool knows which addresses are lent. *allocation.Allocator is one.
type Pool interface {
	// Place is where a service is.
	Place(service model.Name) (netip.Addr, bool)
	// Free counts the addresses that are free.
	Free() int
}

// Options are what an Explainer needs.
type Options struct {
	State State
	Data  Data
	// Dry opens the data plane of a mode for packets that nobody sent, with the chains of State.
	Dry  func(datapath.Mode) (*datapath.Dry, error)
	Bans Bans
	Pool Pool
	// Link is the interface by which the kernel sends to an address, 0 for none.
	Link func(netip.Addr) int
	// Inside reports whether a private interface leads to an address.
	Inside func(netip.Addr) bool
}

// Explainer runs the first packets of flows through the data plane, dry, and tells what came of them. Call New and Close; no
// policy may come into force between the two.
type Explainer struct {
	Options
	dries map[datapath.Mode]*datapath.Dry
	steps []api.ExplainStep
}

// Flow is a flow as its first packet comes.
type Flow struct {
	Direction           model.Direction
	Protocol            model.Protocol
	Source, Destination netip.Addr      // Destination is not known of a flow that goes to a name
	From, Port          uint16          // of the source, which First takes, and of the destination
	name                *registry.Entry // from outside: by it the flow gets a pool address, or reaches the host of a web name
	says                model.Name      // what the connection names, where name may be unknown
}

// New makes an explainer of what is in force. The programs are loaded when they are needed.
func New(o Options) *Explainer {
	return &Explainer{Options: o, dries: map[datapath.Mode]*datapath.Dry{}}
}

// Close gives the programs up.
func (e *Explainer) Close() (err error) {
	for mode, dry := range e.dries {
		if closeErr := dry.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("close what explains in mode %s: %w", mode, closeErr))
		}
	}
	return err
}

// dry is the data plane of a mode, for packets that nobody sent.
func (e *Explainer) dry(mode datapath.Mode) (*datapath.Dry, error) {
	if dry := e.dries[mode]; dry != nil {
		return dry, nil
	}
	dry, err := e.Dry(mode)
	if err == nil {
		e.dries[mode] = dry
	}
	return dry, err
}

func (e *Explainer) step(step, says, format string, args ...any) {
	e.steps = append(e.steps, api.ExplainStep{Step: step, Says: says, Why: fmt.Sprintf(format, args...)})
}

// Explain tells what would become of a flow.
func (e *Explainer) Explain(r api.ExplainRequest) (x api.Explanation, err error) {
	x = api.Explanation{From: r.Address, To: r.ToName.String(), Name: r.Says.String(), Generation: e.State.Generation}
	if r.ToAddress.IsValid() {
		x.To = r.ToAddress.String()
	}
	f, err := e.flowOf(r)
	if err != nil {
		return x, err
	}
	e.steps = nil
	x.Direction, x.Protocol, x.Port = f.Direction.String(), f.Protocol, f.Port
	switch {
	case f.Source.Is6():
		x.Ending, err = e.six(f)
	case f.name == nil && !f.Destination.IsValid():
		x.Ending, x.Services, err = e.services(f)
	default:
		x.Ending, err = e.four(f)
	}
	x.Steps = e.steps
	return x, err
}

// four is how an IPv4 flow ends.
func (e *Explainer) four(f Flow) (api.Ending, error) {
	if f.name != nil && f.says == "" {
		e.named(&f)
	}
	steps, err := e.run(&f)
	if err != nil {
		return api.Ending{}, err
	}
	return e.tell(f, steps), nil
}

// services looks at all that a source outside may ask for by the names of services.
func (e *Explainer) services(f Flow) (all api.Ending, list []api.ExplainService, err error) {
	var about []api.ExplainStep
	for _, h := range e.State.Registry.Hosts() {
		for _, s := range h.Services {
			for _, p := range s.Ports {
				if s.All {
					continue // no port says what to ask about
				}
				f.name, f.Protocol, f.Port = &registry.Entry{Name: s.Name, Host: h, Service: s}, p.Protocol, p.Port
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
		list, listed := strings.CutPrefix(s.Step, ruleset.Name(model.ProtectionName, ""))
		return s.Step != "ban" && s.Step != "address" && (!listed || list == ruleset.Ports || list == ruleset.Honeypot)
	})
}

// silently is how a flow to a name ends, without what is told of the name.
func (e *Explainer) silently(f Flow) (api.Ending, error) {
	e.steps = nil
	f.Destination = e.lendable(f.name.Service)
	steps, err := e.run(&f)
	if err != nil {
		return api.Ending{}, err
	}
	return e.tell(f, steps), nil
}
