package tenants

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
)

// filters names the forward chains that drop packets which go through the kernel's stack:
// the first to each neighbour, and all that leave by an interface that takes no redirects.
func (s *Setup) filters(chains []*chain) (list []string) {
	for _, c := range chains {
		if c.hook != forward || !slices.ContainsFunc(s.flows(), func(f flow) bool { return c.dropped(f) }) {
			continue
		}
		at, whose := c, ""
		if docker := c.others["DOCKER-USER"]; docker != nil { // the one that Docker leaves alone
			at, whose = docker, ", closed by Docker,"
		}
		list = append(list, fmt.Sprintf("%s%s drops packets that the gateway has translated, where the kernel sends them on: %s",
			c, whose, at.insert(fmt.Sprintf("iifname %s oifname %[1]s accept", set(s.interfaces())), s.pairs())))
	}
	return list
}

// flows are those between the sides.
func (s *Setup) flows() (list []flow) {
	for _, in := range s.Private {
		for _, out := range s.Public {
			list = append(list, flow{in: in, out: out}, flow{in: out, out: in})
		}
	}
	return list
}

// pairs are what rules of iptables say of the same.
func (s *Setup) pairs() (list []string) {
	for _, f := range s.flows() {
		list = append(list, fmt.Sprintf("-i %s -o %s -j ACCEPT", f.in, f.out))
	}
	return list
}

// dropped reports whether nothing in a forward chain accepts a packet for certain.
func (c *chain) dropped(f flow) bool {
	end := c.meets(f, true, 0)
	return end == drop || end == goOn && c.drops
}

// mostTried bounds the addresses that rules are tried with.
const mostTried = 256

// translations names the chains that would translate the gateway's packets a second time.
func (s *Setup) translations(chains []*chain) (list []string) {
	for _, c := range chains {
		if c.hook != postrouting {
			continue
		}
		for _, out := range s.Public {
			again := func(a netip.Addr) bool {
				return slices.ContainsFunc(s.Private, func(in string) bool {
					return c.meets(flow{in: in, out: out, source: a}, false, 0) == translate
				})
			}
			if !slices.ContainsFunc(s.External[:min(mostTried, len(s.External))], again) {
				continue
			}
			var texts, lines []string
			for _, p := range prefixes(s.External) {
				texts = append(texts, p.String())
				lines = append(lines, fmt.Sprintf("-s %s -o %s -j ACCEPT", p, out))
			}
			list = append(list, fmt.Sprintf("%s translates again on %s what the gateway has translated, where the kernel sends it on: %s", c, out,
				c.insert(fmt.Sprintf("ip saddr '{ %s }' oifname %s accept", strings.Join(texts, ", "), out), lines)))
		}
	}
	return list
}

// String says which chain it is.
func (c *chain) String() string {
	if c.legacy {
		return fmt.Sprintf("chain %s of table %s of iptables (legacy)", c.name, c.table)
	}
	return fmt.Sprintf("chain %s of table %s %s of nftables", c.name, c.family, c.table)
}

// insert is the command that puts a rule first, or those of iptables that say the same.
func (c *chain) insert(rule string, legacy []string) string {
	if !c.legacy {
		return fmt.Sprintf("nft insert rule %s %s %s %s", c.family, c.table, c.name, rule)
	}
	var commands []string
	for _, l := range legacy {
		commands = append(commands, fmt.Sprintf("iptables-legacy -t %s -I %s %s", c.table, c.name, l))
	}
	return strings.Join(commands, " && ")
}

// set writes names for a shell and nft.
func set(names []string) string { return "'{ " + strings.Join(names, ", ") + " }'" }

// prefixes covers addresses, and no others, with the fewest prefixes.
func prefixes(addresses []netip.Addr) []netip.Prefix {
	var b netipx.IPSetBuilder
	for _, a := range addresses {
		b.Add(a)
	}
	set, err := b.IPSet()
	if err != nil {
		panic(err) // of an address that is none
	}
	return set.Prefixes()
}
