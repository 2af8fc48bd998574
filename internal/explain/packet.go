package explain

import (
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/registry"
)

// somePort is where flows begin of which nobody said it, and the identifier of an echo; the
// next one that is free is taken.
const somePort = 40000

// First is the flow's first packet, how it comes in and in which mode, XDP or TCX, from a port that the flow may have.
func (e *Explainer) First(f *Flow) (in datapath.Frame, mode datapath.Mode, err error) {
	at, err := e.ingress(*f)
	if err == nil {
		f.From, err = e.freePort(*f)
	}
	if err != nil {
		return in, mode, err
	}
	return datapath.Frame{Public: f.Direction == model.In, Ifindex: at.Ifindex, Octets: f.Packet().Bytes()}, at.Mode, nil
}

// run has the flow's first packet go through the data plane, dry.
func (e *Explainer) run(f *Flow) ([]datapath.TraceStep, error) {
	in, mode, err := e.First(f)
	if err != nil {
		return nil, err
	}
	dry, err := e.dry(mode)
	if err != nil {
		return nil, err
	}
	return dry.Run(in, f.lease())
}

// ingress is where the flow's packets would come in: by the interface of their side that leads
// back to their source, else by the first.
func (e *Explainer) ingress(f Flow) (at datapath.Interface, err error) {
	back := e.Link(f.Source)
	for _, i := range e.Data.Interfaces() {
		if i.Ifindex == 0 || i.Mode == datapath.Absent || (i.Side == "public") != (f.Direction == model.In) {
			continue
		}
		if i.Mode == datapath.CLSACT {
			i.Mode = datapath.TCX
		}
		if at.Ifindex == 0 || i.Ifindex == back {
			at = i
		}
	}
	if at.Ifindex == 0 {
		return at, fmt.Errorf("no interface is there that a flow going %s would come by", f.Direction)
	}
	return at, nil
}

// lease is what a flow to a name takes to be lent to it.
func (f Flow) lease() (lent datapath.Lease) {
	if f.name == nil {
		return lent
	}
	lent = datapath.Lease{Host: f.name.Host.Address, Port: f.Port, Whole: f.name.Service.All}
	for _, p := range f.name.Service.Ports {
		if p.Protocol == f.Protocol && p.Port == f.Port {
			lent.Port = p.To
		}
	}
	return lent
}

// Packet is the flow's first one, on no link yet.
func (f Flow) Packet() packets.Packet {
	source, to := netip.AddrPortFrom(f.Source, f.From), netip.AddrPortFrom(f.Destination, f.Port)
	switch f.Protocol {
	case model.TCP:
		return packets.NewTCP(source, to, packets.SYN, "")
	case model.UDP:
		return packets.NewUDP(source, to, "")
	case model.UDPLite:
		return packets.NewCovered(source, to, 0, nil)
	}
	if f.Protocol.ByAddress() {
		return packets.NewIP(f.Source, f.Destination, f.Protocol, make([]byte, 40)) // longer than each of their headers
	}
	echo := packets.NewEcho(f.Source, f.Destination, f.From, 1)
	if f.Source.Is6() && f.Protocol == model.AnyProtocol {
		echo.IPv6.NextHeader = noNextHeader
	}
	return echo
}

// noNextHeader is of IPv6 packets that are of no protocol (RFC 8200 section 4.7).
const noNextHeader model.Protocol = 59

// freePort is one by which no session of the flow's two ends is open.
func (e *Explainer) freePort(f Flow) (uint16, error) {
	if f.Source.Is6() {
		return somePort, nil
	}
	var open []datapath.Session
	if err := e.Data.Sessions(func(s datapath.Session) { open = append(open, s) }); err != nil {
		return 0, err
	}
	return f.freePort(open)
}

// How near a session is to a flow that has its port.
const (
	sameEnds = 1 + iota // their addresses; from outside the remote one's alone, for addresses may lead to one host
	sameFlow
)

// freePort is the first one from somePort on, and round, by which nothing near to the flow is open.
func (f Flow) freePort(open []datapath.Session) (uint16, error) {
	const ports = 1<<16 - 1
	near := map[uint16]int{}
	for _, s := range open {
		from, to := s.Private, s.Remote
		if f.Direction == model.In {
			from, to = s.Remote, s.External
		}
		switch {
		case s.Protocol != f.Protocol || from.Addr() != f.Source:
		case to.Addr() == f.Destination && (to.Port() == f.Port || !f.Protocol.HasPorts()):
			near[from.Port()] = sameFlow
		case to.Addr() == f.Destination || f.Direction == model.In:
			near[from.Port()] = max(near[from.Port()], sameEnds)
		}
	}
	for _, refused := range []int{sameEnds, sameFlow} {
		for n := range ports {
			if port := uint16((somePort-1+n)%ports + 1); near[port] < refused {
				return port, nil
			}
		}
	}
	return 0, fmt.Errorf("%s has sessions with %s from all its ports", f.Source, endpointText(f.Protocol, netip.AddrPortFrom(f.Destination, f.Port)))
}

// named tells what the flow goes to, and gives it the pool address that it would be answered.
func (e *Explainer) named(f *Flow) {
	service := f.name.Service
	if at := e.State.WebAddress(f.name.Host.Name); service.Web && at.IsValid() {
		f.Destination = at // which the step comes to where the name is read
		return
	}
	f.Destination = e.lendable(service)
	e.step("name", "lend", "%s is %s", f.name.Name, endpointText(f.Protocol, netip.AddrPortFrom(f.name.Host.Address, f.lease().Port)))
	free, all := e.Pool.Free(), len(e.State.Config.Pool.Addresses)
	switch address, stands := e.Pool.Place(service.Name); {
	case stands:
		e.step("pool", "lend", "it has %s; quotas are not looked at", address)
	case free > 0:
		e.step("pool", "lend", "%d of %d addresses are free; quotas are not looked at", free, all)
	case len(e.State.Shared) > 0:
		e.step("pool", "wait", "somebody has its ports of the pool's addresses: it gets them when they have rested, or none")
	default:
		e.step("pool", "wait", "none of %d addresses is free: it gets one that has rested, or none", all)
	}
}

// lendable is the address that a service has, or any that it may get.
func (e *Explainer) lendable(s *registry.Service) netip.Addr {
	if address, stands := e.Pool.Place(s.Name); stands {
		return address
	}
	for _, list := range [][]netip.Addr{e.State.Config.Pool.Addresses, e.State.Shared} {
		if len(list) > 0 {
			return list[0]
		}
	}
	return netip.IPv4Unspecified()
}

func endpointText(p model.Protocol, a netip.AddrPort) string {
	if !p.HasPorts() {
		return p.String() + " of " + a.Addr().String()
	}
	return p.String() + " " + a.String()
}

// six says what becomes of the IPv6 packet that opens a flow: its protection leaves no steps,
// but counts whom it asks.
func (e *Explainer) six(f Flow) (api.Ending, error) {
	if !f.Destination.IsValid() {
		f.Destination = nobody6
	}
	at, err := e.ingress(f)
	if err != nil {
		return api.Ending{}, err
	}
	dry, err := e.dry(at.Mode)
	if err != nil {
		return api.Ending{}, err
	}
	if _, err := dry.Asked(); err != nil { // of flows before
		return api.Ending{}, err
	}
	steps, err := e.run(&f)
	if err != nil {
		return api.Ending{}, err
	}
	asked, err := dry.Asked()
	return e.tell6(f, steps, asked), err
}

// nobody6 is an address that is nobody's (RFC 6666).
var nobody6 = netip.MustParseAddr("100::1")
