package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// check is one line of the report, which is left out where there is nothing to look at.
type check struct {
	name    string
	because []string          // checks that explain it where they fail, too, the likeliest first
	looks   func(*Facts) bool // whether there is something to look at; nil: always
	judge   func(*Facts) verdict
}

// verdict is what a check says where all is well, and what is wrong.
type verdict struct {
	says   string
	faults []Fault
}

// checks are in the order in which one thing rests on another.
var checks = []check{
	{"configuration", nil, func(f *Facts) bool { return f.Configuration.File != "" }, configuration},
	{"kernel", nil, hasKernel, kernel},
	{"bpffs", nil, hasKernel, bpffs},
	{"lockdown", nil, func(f *Facts) bool { return f.Kernel.Lockdown != "" }, lockdown},
	{"capabilities", nil, hasKernel, capabilities},
	{"interfaces", nil, func(f *Facts) bool { return len(f.Interfaces)+len(f.Doubts.Interfaces) > 0 }, interfaces},
	{"drivers", []string{"interfaces"}, hasInterfaces, drivers},
	{"mtu", []string{"interfaces"}, hasInterfaces, mtu},
	{"other programs", nil, hasInterfaces, links},
	{"route", []string{"interfaces"}, func(f *Facts) bool { return f.Routes.Looked && (f.Routes.Default || !f.Single) }, route}, // who serves its own network alone needs none
	{"next hop", []string{"interfaces", "route", "other programs"}, func(f *Facts) bool { return f.Routes.Default }, nextHop},
	{"addresses", []string{"interfaces"}, hasInside, addresses},
	{"hosts", []string{"interfaces"}, hasInside, hosts},
	{"firewall", nil, hasInterfaces, firewall},
	{"ports", nil, hasInside, ports},
	{"memory", nil, func(f *Facts) bool { return f.Memory.Needed > 0 && !f.Gateway.Answers }, memory}, // who answers has it already
	{"disk", nil, func(f *Facts) bool { return f.Disk.Folder != "" }, disk},
	{"certificate", nil, func(f *Facts) bool { return f.Certificate.File != "" }, certificate},
	{"clock", nil, func(f *Facts) bool { return f.Clock.Looked }, clock},
	{"gateway", []string{"kernel", "bpffs", "capabilities", "ports", "memory"}, func(f *Facts) bool { return f.Gateway.Socket != "" }, gateway},
	{"pool", []string{"interfaces", "route", "next hop", "other programs", "addresses", "gateway"}, func(f *Facts) bool { return len(f.Pool) > 0 }, poolWay},
	// The gateway sets both when it attaches, and again where others change them.
	{"forwarding", []string{"gateway"}, func(f *Facts) bool { return hasInside(f) && f.Gateway.AtWork }, forwarding},
	{"reverse path", []string{"gateway"}, func(f *Facts) bool { return hasInside(f) && f.Gateway.AtWork }, reversePath},
	{"upstream", []string{"route", "next hop", "interfaces", "other programs", "firewall"}, func(f *Facts) bool { return !f.Single && len(f.Upstream) > 0 }, upstream},
	{"delegation", []string{"upstream", "route", "next hop", "interfaces"}, func(f *Facts) bool { return !f.Single && slices.ContainsFunc(f.Delegations, Delegation.found) }, delegation},
	{"round trip", []string{"configuration", "gateway", "interfaces", "hosts", "ports", "addresses"}, func(f *Facts) bool { return f.RoundTrip.Name != "" }, roundTrip},
	{"lists", []string{"upstream", "route", "next hop", "interfaces"}, func(f *Facts) bool { return len(f.Gateway.Lists) > 0 }, lists},
	{"web", []string{"interfaces"}, func(f *Facts) bool { return len(f.Doubts.Web) > 0 }, func(f *Facts) verdict { return verdict{faults: doubts(Warning, f.Doubts.Web)} }},
	{"status", []string{"interfaces", "addresses", "hosts", "firewall", "other programs", "next hop", "upstream", "disk", "lists"},
		func(f *Facts) bool { return f.Gateway.Answers }, status},
}

func hasKernel(f *Facts) bool     { return f.Kernel.Release != "" }
func hasInterfaces(f *Facts) bool { return len(f.Interfaces) > 0 }

// hasInside is about hosts inside, and all that the gateway does for them.
func hasInside(f *Facts) bool { return hasInterfaces(f) && !f.Single }

func bad(what, remedy string) Fault  { return Fault{Bad, what, remedy} }
func warn(what, remedy string) Fault { return Fault{Warning, what, remedy} }

// either is what a check says where nothing is wrong.
func either(says string, faults []Fault) verdict { return verdict{says, faults} }

func configuration(f *Facts) verdict {
	c := f.Configuration
	if c.Error != "" {
		return verdict{faults: []Fault{bad(c.Error, "realmgate check -c "+c.File)}}
	}
	return either(c.File+" is good", doubts(Warning, f.Doubts.Configuration))
}

func interfaces(f *Facts) verdict {
	var names []string
	for _, i := range f.Interfaces {
		names = append(names, fmt.Sprintf("%s (%s)", i.Name, i.Side))
	}
	return either(strings.Join(names, ", "), doubts(Bad, f.Doubts.Interfaces))
}

func links(f *Facts) verdict {
	return either("nobody else's are at the interfaces", doubts(Bad, f.Doubts.Links))
}

func addresses(f *Facts) verdict {
	return either("those of the pool, outbound and of the name servers are ours", doubts(Bad, f.Doubts.Addresses))
}

func hosts(f *Facts) verdict {
	return either("a private interface leads to each", doubts(Bad, f.Doubts.Hosts))
}

func firewall(f *Facts) verdict {
	faults := append(doubts(Bad, f.Doubts.Rules), doubts(Warning, f.Doubts.Failed)...)
	says := "no rule drops or translates the gateway's packets"
	if len(f.Doubts.Denied) > 0 {
		says = "no rule was found that drops or translates the gateway's packets; not looked at, as only root may: " + strings.Join(f.Doubts.Denied, ", ")
	}
	return either(says, faults)
}

func ports(f *Facts) verdict {
	return either("nobody else listens where the name servers do", doubts(Bad, f.Doubts.Ports))
}

func route(f *Facts) verdict {
	r := f.Routes
	switch {
	case !r.Default:
		return verdict{faults: []Fault{bad("there is no default route: hosts reach nobody outside", "ip route add default via ROUTER")}}
	case !r.Public:
		return verdict{faults: []Fault{bad(fmt.Sprintf("the default route leaves by %s, which is no public interface", r.By),
			"list "+r.By+" under interfaces.public, or ip route replace default via ROUTER")}}
	}
	return either("the default route leaves by "+r.By, nil)
}

func nextHop(f *Facts) verdict {
	var faults []Fault
	for _, a := range f.Routes.Dead {
		faults = append(faults, bad(fmt.Sprintf("next hop %s does not answer ARP", a), fmt.Sprintf("look at the router and the cable: ip neighbour show %s", a)))
	}
	return either("each answers ARP", faults)
}

func upstream(f *Facts) verdict {
	var faults []Fault
	for _, s := range f.Upstream {
		switch {
		case s.UDP != "" && s.TCP != "":
			faults = append(faults, bad(fmt.Sprintf("name server %s does not answer: %s", s.Address, s.UDP), "correct dns.upstream, or let UDP and TCP to its port pass: "+dig(s.Address, "")))
		case s.UDP != "":
			faults = append(faults, bad(fmt.Sprintf("name server %s does not answer over UDP: %s", s.Address, s.UDP), "let UDP to its port pass: "+dig(s.Address, " +notcp")))
		case s.TCP != "":
			faults = append(faults, warn(fmt.Sprintf("name server %s does not answer over TCP: %s: long answers are lost", s.Address, s.TCP), "let TCP to its port pass: "+dig(s.Address, " +tcp")))
		case s.EDNS != "":
			faults = append(faults, warn(fmt.Sprintf("name server %s does not take EDNS: %s: long answers take a second question", s.Address, s.EDNS),
				"name another under dns.upstream: "+dig(s.Address, " +edns=0")))
		}
	}
	return either("each name server answers over UDP and TCP, and takes EDNS", faults)
}

func dig(at netip.AddrPort, flags string) string {
	return fmt.Sprintf("dig @%s -p %d . NS%s", at.Addr(), at.Port(), flags)
}

func lists(f *Facts) verdict {
	var faults []Fault
	for _, l := range f.Gateway.Lists {
		if l.Error == "" {
			continue
		}
		age := "was never fetched"
		if !l.Fetched.IsZero() {
			age = fmt.Sprintf("is %s old", f.Now.Sub(l.Fetched).Round(time.Minute))
		}
		faults = append(faults, warn(fmt.Sprintf("list %s %s: %s", l.Name, age, l.Error), "realmgate lists refresh "+l.Name))
	}
	return either("each is as new as it has to be", faults)
}
