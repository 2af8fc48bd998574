package doctor

import (
	"fmt"
	"strings"
)

func drivers(f *Facts) verdict {
	var faults []Fault
	var served []string
	for _, i := range f.Interfaces {
		how := i.Driver
		switch {
		case i.Mode != "":
			how += " at " + i.Mode
		case i.Known && i.Native && i.Redirects:
			how += ", native XDP with redirect"
		case i.Known && i.Native:
			how += ", native XDP without redirect"
		}
		served = append(served, i.Name+": "+how)
		faults = append(faults, driver(i)...)
	}
	return either(strings.Join(served, "; "), faults)
}

// driver judges an interface by what its program in the driver would not see, or could not send.
func driver(i Interface) (faults []Fault) {
	if !i.XDP {
		return nil
	}
	if i.Known && !i.Native {
		faults = append(faults, bad(fmt.Sprintf("%s (%s) runs no XDP program in its driver, and interfaces.xdp lists it", i.Name, i.Driver), "take "+i.Name+" out of interfaces.xdp"))
	} else if i.Known && !i.Redirects {
		what, remedy := "takes no redirected frames: packets to it go through the stack", "see what its driver needs: ethtool -i "+i.Name
		if i.Driver == "veth" {
			remedy = "ethtool -K PEER gro on, PEER being its far side"
		}
		faults = append(faults, warn(fmt.Sprintf("%s (%s) %s", i.Name, i.Driver, what), remedy))
	}
	if i.LRO {
		faults = append(faults, bad(i.Name+" joins packets before XDP sees them (LRO)", "ethtool -K "+i.Name+" lro off"))
	}
	if i.StripsVLAN && len(i.VLANs) > 0 {
		faults = append(faults, bad(fmt.Sprintf("%s takes VLAN tags off before XDP sees them, and packets of %s look as its own", i.Name, strings.Join(i.VLANs, ", ")),
			"ethtool -K "+i.Name+" rxvlan off"))
	}
	return faults
}

// leastMTU is what IPv4 over Ethernet has everywhere but in tunnels; of these a side may be.
const leastMTU = 1280

func mtu(f *Facts) verdict {
	var faults []Fault
	var all []string
	for _, i := range f.Interfaces {
		all = append(all, fmt.Sprintf("%s %d", i.Name, i.MTU))
		if i.MTU < leastMTU {
			faults = append(faults, warn(fmt.Sprintf("the MTU of %s is %d: whoever sends longer packets has to be told, or they are lost", i.Name, i.MTU),
				fmt.Sprintf("ip link set %s mtu 1500", i.Name)))
		}
	}
	return either(strings.Join(all, ", "), faults)
}

func forwarding(f *Facts) verdict {
	var faults []Fault
	for _, i := range f.Interfaces {
		if !i.Forwards {
			faults = append(faults, bad("the kernel does not forward at "+i.Name+": what the gateway hands to it is lost", fmt.Sprintf("sysctl -w net.ipv4.conf.%s.forwarding=1", i.Name)))
		}
	}
	return either("on at each interface", faults)
}

func reversePath(f *Facts) verdict {
	var faults []Fault
	for _, i := range f.Interfaces {
		if i.ReversePath == 1 {
			faults = append(faults, bad("the kernel checks reverse paths at "+i.Name+" strictly, and drops what the gateway has translated", fmt.Sprintf("sysctl -w net.ipv4.conf.%s.rp_filter=2", i.Name)))
		}
	}
	return either("the kernel leaves it to the gateway", faults)
}
