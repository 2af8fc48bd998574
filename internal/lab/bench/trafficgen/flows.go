package trafficgen

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
)

// Addresses are consecutive IPv4 addresses, from First on.
type Addresses struct {
	First netip.Addr
	Count int
}

// Last returns the last of them.
func (a Addresses) Last() netip.Addr { return a.At(a.Count - 1) }

// At returns one of them, counted from 0.
func (a Addresses) At(place int) netip.Addr { return addressOf(numberOf(a.First) + uint32(place)) }

// DNAT is a static translation of destinations: each of From becomes the
// one at the same place from To on; ports stay.
type DNAT struct {
	From Addresses
	To   netip.Addr
}

// Target returns what the address at a place of From becomes.
func (d DNAT) Target(place int) netip.Addr { return Addresses{First: d.To}.At(place) }

// Ports are Count ports spread evenly over those from First to Last.
type Ports struct {
	First, Last uint16
	Count       int
}

// Ranges of RFC 4814 section 4.5.
var (
	SourcePorts      = Ports{First: 1024, Last: 65535}
	DestinationPorts = Ports{First: 1, Last: 49151}
)

// Some returns count of the ports.
func (p Ports) Some(count int) Ports {
	p.Count = count
	return p
}

func (p Ports) step() int { return max(1, (int(p.Last)-int(p.First)+1)/max(1, p.Count)) }

// Flows are all combinations of sources, destinations and their ports (RFC 9693
// section 4): each is one session of a stateful device.
type Flows struct {
	Sources          Addresses `json:"sources"`
	SourcePorts      Ports     `json:"source_ports"`
	Destinations     Addresses `json:"destinations"`
	DestinationPorts Ports     `json:"destination_ports"`
}

// Count returns how many flows there are.
func (f Flows) Count() int {
	return f.Sources.Count * f.SourcePorts.Count * f.Destinations.Count * f.DestinationPorts.Count
}

// Check returns an error unless all addresses are IPv4 and every count is at
// least 1 and fits its range.
func (f Flows) Check() error {
	for _, a := range []struct {
		what string
		Addresses
	}{{"source", f.Sources}, {"destination", f.Destinations}} {
		if !a.First.Is4() || a.Count < 1 || uint64(numberOf(a.First))+uint64(a.Count) > 1<<32 {
			return fmt.Errorf("%d %s addresses from %s on: want at least 1, all IPv4", a.Count, a.what, a.First)
		}
	}
	for _, p := range []struct {
		what string
		Ports
	}{{"source", f.SourcePorts}, {"destination", f.DestinationPorts}} {
		if room := int(p.Last) - int(p.First) + 1; p.Count < 1 || p.Count > room {
			return fmt.Errorf("%d %s ports: want 1 to %d", p.Count, p.what, room)
		}
	}
	if n := f.Count(); n > 1<<31 {
		return fmt.Errorf("%d flows: at most %d", n, 1<<31)
	}
	return nil
}

// plan puts the flows into the form that the generator computes with.
func (f Flows) plan(p *bpfTrafficgenPlan) {
	flows := uint32(f.Count())
	width := max(bits.Len32(flows-1), 1)
	p.Flows, p.Mask, p.Shift = flows, 1<<width-1, uint32(width+1)/2
	p.Source = bpfTrafficgenRange{First: numberOf(f.Sources.First), Count: uint32(f.Sources.Count), Step: 1}
	p.Destination = bpfTrafficgenRange{First: numberOf(f.Destinations.First), Count: uint32(f.Destinations.Count), Step: 1}
	p.SourcePort = f.SourcePorts.plan()
	p.DestinationPort = f.DestinationPorts.plan()
}

func (p Ports) plan() bpfTrafficgenRange {
	return bpfTrafficgenRange{First: uint32(p.First), Count: uint32(p.Count), Step: uint32(p.step())}
}

func numberOf(a netip.Addr) uint32 {
	if !a.Is4() {
		return 0
	}
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func addressOf(number uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, number)))
}
