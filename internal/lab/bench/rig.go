package bench

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// Names of the device's interfaces in its namespace, as in a lab's gateway.
const (
	PublicInterface  = "eth0"
	PrivateInterface = "eth1"
)

// Addresses of a rig, after RFC 9693 section 4.1: sources are in 10.0.0.0/16,
// destinations in 198.19.0.0/16, and the device translates to 198.18.0.0/16. The
// tester's interfaces are next hops, so that the number of sources changes
// nothing in the device's neighbour tables.
var (
	PrivateAddress  = netip.MustParsePrefix("10.255.0.1/30")
	PrivateNextHop  = netip.MustParseAddr("10.255.0.2")
	Sources         = netip.MustParsePrefix("10.0.0.0/16")
	PublicAddress   = netip.MustParsePrefix("198.18.255.1/30")
	PublicNextHop   = netip.MustParseAddr("198.18.255.2")
	Destinations    = netip.MustParsePrefix("198.19.0.0/16")
	FirstTranslated = netip.MustParseAddr("198.18.0.1")
	// Forwarded is where sessions go whose destination is translated, and Denied
	// where nothing goes (both of RFC 6598, as in the realm gateway's measurements).
	Forwarded = netip.MustParseAddr("100.64.0.1")
	Denied    = netip.MustParseAddr("100.80.0.1")
)

// Rig is a device's place between the tester's two interfaces. Device is the
// namespace in which it runs; nil for an external one, whose rig is not laid here.
type Rig struct {
	Device *netns.Namespace
	// Initiator and Responder are the tester's interfaces, as it attaches to
	// them; Private and Public the device's, as it would forward between them.
	Initiator, Responder trafficgen.Port
	Private, Public      trafficgen.Port

	Host       *Host  // for settings of the whole machine
	Directory  string // for files of this measurement
	Instance   string // a name for this device's own, unique on the machine
	Executable string // the realmgate program
	CPU        int    // that the tester runs on
	// ResetCommand ends all sessions of an external device, as External.Reset says.
	ResetCommand string

	// Inside and Outside hold the tester's interfaces, in the private and the
	// public realm.
	Inside, Outside *netns.Namespace

	hosts   bool  // they are there
	threads []int // the CPUs to which a scenario has moved the device
}

// Names of the tester's interfaces.
const (
	insideInterface  = "initiator"
	outsideInterface = "responder"
)

// NewRig lays a rig in a lab; name tells it from others there, and options are of its links.
func NewRig(l *netns.Lab, name string, options ...netns.VethOption) (*Rig, error) {
	r := &Rig{}
	var err error
	for suffix, namespace := range map[string]**netns.Namespace{"": &r.Device, "-inside": &r.Inside, "-outside": &r.Outside} {
		if *namespace, err = l.Namespace(name + suffix); err != nil {
			return nil, err
		}
	}
	err = errors.Join(l.Veth(r.Device, PrivateInterface, r.Inside, insideInterface, options...), l.Veth(r.Device, PublicInterface, r.Outside, outsideInterface, options...))
	if err != nil {
		return nil, err
	}
	for _, end := range []struct {
		namespace *netns.Namespace
		ifname    string
	}{{r.Device, PrivateInterface}, {r.Device, PublicInterface}, {r.Inside, insideInterface}, {r.Outside, outsideInterface}} {
		err = errors.Join(err, end.namespace.Up(end.ifname))
	}
	if err = errors.Join(err, r.Device.WaitUp(), r.Inside.WaitUp(), r.Outside.WaitUp(), r.readPorts(), r.configure()); err != nil {
		return nil, fmt.Errorf("lay the rig of %s: %w", name, err)
	}
	return r, nil
}

func (r *Rig) readPorts() error {
	return errors.Join(
		readPorts(&r.Initiator, r.Inside, insideInterface, &r.Private, r.Device, PrivateInterface),
		readPorts(&r.Responder, r.Outside, outsideInterface, &r.Public, r.Device, PublicInterface))
}

// readPorts fills in the two ends of a link.
func readPorts(a *trafficgen.Port, at *netns.Namespace, aName string, b *trafficgen.Port, bt *netns.Namespace, bName string) (err error) {
	a.Name, b.Name = aName, bName
	if a.Index, err = at.Index(aName); err != nil {
		return err
	}
	if b.Index, err = bt.Index(bName); err != nil {
		return err
	}
	if a.MAC, err = at.MAC(aName); err != nil {
		return err
	}
	if b.MAC, err = bt.MAC(bName); err != nil {
		return err
	}
	a.Device, b.Device = b.MAC, a.MAC
	return nil
}

// configure gives the device its addresses, routes and neighbours.
func (r *Rig) configure() error {
	d := r.Device
	return errors.Join(
		d.Address(PrivateInterface, PrivateAddress.String()), d.Address(PublicInterface, PublicAddress.String()),
		d.Neighbour(PrivateInterface, PrivateNextHop, r.Initiator.MAC), d.Neighbour(PublicInterface, PublicNextHop, r.Responder.MAC),
		d.Route(Sources.String(), PrivateNextHop.String()), d.Route(Destinations.String(), PublicNextHop.String()))
}

// Turn makes the tester initiate sessions in the public realm.
func (r *Rig) Turn() { r.Initiator, r.Responder = r.Responder, r.Initiator }

// Attach puts a generator's sinks at the tester's interfaces.
func (r *Rig) Attach(g *trafficgen.Generator) error {
	initiator, responder := r.Inside, r.Outside
	if r.Initiator.Name == outsideInterface {
		initiator, responder = responder, initiator
	}
	return errors.Join(
		within(initiator, func() error { return g.Attach(trafficgen.Initiator, r.Initiator) }),
		within(responder, func() error { return g.Attach(trafficgen.Responder, r.Responder) }))
}

// within runs f in a namespace, or here where there is none: the rig of an external
// device.
func within(n *netns.Namespace, f func() error) error {
	if n == nil {
		return f()
	}
	return n.Do(f)
}
