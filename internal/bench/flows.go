package bench

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/bench/trafficgen"
)

const (
	mostSources     = 16
	portsEachSource = 12500 // so that four sources may share one translated address
)

// FlowsFor returns flows for about so many sessions, and the addresses that a
// device translates them to: many source ports and few destination ports, as RFC
// 9693 section 4.4 advises, from several sources to one destination.
func FlowsFor(sessions int) (flows trafficgen.Flows, pool trafficgen.Addresses) {
	sources := mostSources
	if sessions < 64*mostSources {
		sources = 1
	}
	destinationPorts := (sessions + sources*portsEachSource - 1) / (sources * portsEachSource)
	flows = trafficgen.Flows{
		Sources:          trafficgen.Addresses{First: after(Sources.Addr(), 2), Count: sources},
		SourcePorts:      trafficgen.SourcePorts.Some(max(1, sessions/(sources*destinationPorts))),
		Destinations:     trafficgen.Addresses{First: after(Destinations.Addr(), 2), Count: 1},
		DestinationPorts: trafficgen.DestinationPorts.Some(destinationPorts),
	}
	return flows, trafficgen.Addresses{First: FirstTranslated, Count: sources}
}

func after(a netip.Addr, n int) netip.Addr {
	for range n {
		a = a.Next()
	}
	return a
}
