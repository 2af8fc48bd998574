package doctor

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// check is one line of the report.
type check struct {
	name    string
	because []string // checks that explain it where they fail, too, the likeliest first
	judge   func(*Facts) verdict
}

// verdict is what a check says where all is well, and what is wrong. A check with neither had nothing to look at.
type verdict struct {
	says   string
	faults []Fault
}

// checks are in the order in which one thing rests on another.
var checks = []check{
	{"configuration", nil, configuration},
	{"kernel", nil, kernel},
	{"bpffs", nil, bpffs},
	{"lockdown", nil, lockdown},
	{"capabilities", nil, capabilities},
	{"interfaces", nil, interfaces},
	{"drivers", []string{"interfaces"}, drivers},
	{"mtu", []string{"interfaces"}, mtu},
	{"other programs", nil, links},
	{"route", []string{"interfaces"}, route},
	{"next hop", []string{"interfaces", "route", "other programs"}, nextHop},
	{"addresses", []string{"interfaces"}, inside(addresses)},
	{"hosts", []string{"interfaces"}, inside(hosts)},
	{"firewall", nil, firewall},
	{"ports", nil, inside(ports)},
	{"memory", nil, memory},
	{"disk", nil, disk},
	{"certificate", nil, certificate},
	{"clock", nil, clock},
	{"gateway", []string{"kernel", "bpffs", "capabilities", "ports", "memory"}, gateway},
	{"pool", []string{"interfaces", "route", "next hop", "other programs", "addresses", "gateway"}, poolWay},
	{"forwarding", []string{"gateway"}, inside(forwarding)},
	{"reverse path", []string{"gateway"}, inside(reversePath)},
	{"upstream", []string{"route", "next hop", "interfaces", "other programs", "firewall"}, inside(upstream)},
	{"delegation", []string{"upstream", "route", "next hop", "interfaces"}, inside(delegation)},
	{"round trip", []string{"gateway", "interfaces", "hosts", "ports", "addresses"}, roundTrip},
	{"lists", []string{"upstream", "route", "next hop", "interfaces"}, lists},
	{"web", []string{"interfaces"}, func(f *Facts) verdict { return verdict{faults: doubts(Warning, f.Doubts.Web)} }},
	{"status", []string{"interfaces", "addresses", "hosts", "firewall", "other programs", "next hop", "upstream", "disk", "lists"}, status},
}

func bad(what, remedy string) Fault  { return Fault{Bad, what, remedy} }
func warn(what, remedy string) Fault { return Fault{Warning, what, remedy} }

// inside leaves out what is about hosts inside, and all that the gateway does for them, where nobody is.
func inside(judge func(*Facts) verdict) func(*Facts) verdict {
	return func(f *Facts) verdict {
		if f.Single {
			return verdict{}
		}
		return judge(f)
	}
}

// either is what a check says where nothing is wrong.
func either(says string, faults []Fault) verdict { return verdict{says, faults} }

func configuration(f *Facts) verdict {
	c := f.Configuration
	switch {
	case c.File == "":
		return verdict{}
	case c.Error != "":
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
	says := ""
	if len(f.Interfaces) > 0 {
		says = "nobody else's are at the interfaces"
	}
	return either(says, doubts(Bad, f.Doubts.Links))
}

func addresses(f *Facts) verdict {
	says := ""
	if len(f.Interfaces) > 0 {
		says = "those of the pool, outbound and of the name servers are ours"
	}
	return either(says, doubts(Bad, f.Doubts.Addresses))
}

func hosts(f *Facts) verdict {
	says := ""
	if len(f.Interfaces) > 0 {
		says = "a private interface leads to each"
	}
	return either(says, doubts(Bad, f.Doubts.Hosts))
}

func firewall(f *Facts) verdict {
	says := ""
	if len(f.Interfaces) > 0 {
		says = "no rule drops or translates the gateway's packets"
	}
	faults := append(doubts(Bad, f.Doubts.Rules), doubts(Warning, f.Doubts.Failed)...)
	return either(says, faults)
}

func ports(f *Facts) verdict {
	says := ""
	if len(f.Interfaces) > 0 {
		says = "nobody else listens where the name servers do"
	}
	return either(says, doubts(Bad, f.Doubts.Ports))
}

func route(f *Facts) verdict {
	r := f.Routes
	switch {
	case !r.Looked, f.Single && !r.Default: // who serves its own network alone needs none
		return verdict{}
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
	says := ""
	if f.Routes.Default {
		says = "each answers ARP"
	}
	return either(says, faults)
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
	says := ""
	if len(f.Upstream) > 0 {
		says = "each name server answers over UDP and TCP, and takes EDNS"
	}
	return either(says, faults)
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
	says := ""
	if len(f.Gateway.Lists) > 0 {
		says = "each is as new as it has to be"
	}
	return either(says, faults)
}
