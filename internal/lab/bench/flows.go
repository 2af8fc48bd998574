package bench

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// Numbers of source ports. One host has as many as Lencse and Shima gave it; of
// several hosts four may share one translated address and all find ports.
const (
	portsOfOne  = 40_000
	portsOfSome = 12_500
	portsOfMany = 200_000 // of all hosts together
)

// MostTranslated is how many addresses a device translates to at most.
const MostTranslated = 16

// FlowsFor returns flows for about so many sessions, and the addresses that a
// device translates them to: many source ports and few destination ports, as RFC
// 9693 section 4.4 advises, from hosts with an address each to one destination.
func FlowsFor(sessions, hosts int) (flows trafficgen.Flows, pool trafficgen.Addresses) {
	hosts = min(hosts, sessions)
	ports := portsOfOne
	if hosts > 1 {
		ports = min(portsOfSome, portsOfMany/hosts)
	}
	destinationPorts := (sessions + hosts*ports - 1) / (hosts * ports)
	flows = trafficgen.Flows{
		Sources:          trafficgen.Addresses{First: after(Sources.Addr(), 2), Count: hosts},
		SourcePorts:      trafficgen.SourcePorts.Some(sessions / (hosts * destinationPorts)),
		Destinations:     trafficgen.Addresses{First: after(Destinations.Addr(), 2), Count: 1},
		DestinationPorts: trafficgen.DestinationPorts.Some(destinationPorts),
	}
	return flows, trafficgen.Addresses{First: FirstTranslated, Count: min(hosts, MostTranslated)}
}

func after(a netip.Addr, n int) netip.Addr {
	for range n {
		a = a.Next()
	}
	return a
}
