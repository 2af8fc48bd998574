package doctor

import (
	"fmt"
	"strings"
	"time"
)

// poolWay says what can be known from one side: who does not send a packet back may do so for others.
func poolWay(f *Facts) verdict {
	var faults []Fault
	var here, unknown []string
	for _, p := range f.Pool {
		switch {
		case p.Here:
			here = append(here, p.Address.String())
		case p.Lost.IsValid():
			faults = append(faults, bad(fmt.Sprintf("%s of the pool does not lead here: %s says %s", p.Address, p.Lost, p.Error),
				fmt.Sprintf("have the router outside lead %s to this gateway", p.Address)))
		default:
			unknown = append(unknown, p.Address.String())
		}
	}
	var says []string
	if len(here) > 0 {
		says = append(says, "the router outside leads "+strings.Join(here, ", ")+" here")
	}
	if len(unknown) > 0 {
		says = append(says, "whether "+strings.Join(unknown, ", ")+" leads here, only somebody outside can tell: the router sends nothing back to who sent it")
	}
	return either(strings.Join(says, "; "), faults)
}

// roundTrip tells the first place at which it broke.
func roundTrip(f *Facts) verdict {
	r := f.RoundTrip
	one := func(f Fault) verdict { return verdict{faults: []Fault{f}} }
	explain := fmt.Sprintf("realmgate explain %s --to %s", r.From, r.Name)
	switch {
	case r.Unknown:
		return one(bad(r.Name+" is the name of no service", "take one of these: realmgate hosts"))
	case r.Untried != "":
		return one(warn(r.Name+" was not taken: "+r.Untried, "realmgate doctor --round-trip NAME, as root, while the gateway runs"))
	case r.Silent.IsValid():
		return one(bad(fmt.Sprintf("%s is at %s, and %s does not answer ARP", r.Name, r.Host.Addr(), r.Silent), fmt.Sprintf("look at the host and its cable: ip neighbour show %s", r.Silent)))
	case r.NoAddress != "":
		return one(bad(fmt.Sprintf("name server %s lends no address for %s: %s", r.Server, r.Name, r.NoAddress), "see why: realmgate status, realmgate pool; "+explain))
	case r.Dropped != "":
		return one(bad(fmt.Sprintf("%s was lent for %s, and the gateway drops what goes there: %s", r.Lent, r.Name, r.Dropped), explain))
	case r.Refused:
		return one(bad(fmt.Sprintf("packets reach %s and back, and nobody listens at TCP port %d", r.Host.Addr(), r.Host.Port()), "start the service there: ss -ltn"))
	case r.Failed != "":
		return one(bad(fmt.Sprintf("packets go to %s, and none comes back: %s", r.Host, r.Failed),
			fmt.Sprintf("let them in there, and have answers come this way: ip route get %s, on the host", r.From)))
	}
	return either(fmt.Sprintf("%s led by %s to %s and back within %s", r.Name, r.Lent, r.Host, r.Took.Round(time.Millisecond)), nil)
}
