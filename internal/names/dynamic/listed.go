package dynamic

import (
	"fmt"
	"net/netip"
	"strings"
)

// parseListed reads a line of a file of hosts: "name address". What follows "#" is for people.
func parseListed(line string) (Lease, error) {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(line)
	if len(words) == 0 {
		return Lease{}, errNotOurs
	}
	if len(words) != 2 {
		return Lease{}, fmt.Errorf("want a name and an address, not %d words", len(words))
	}
	address, err := netip.ParseAddr(words[1])
	if err != nil || !address.Is4() {
		return Lease{}, fmt.Errorf("the address %q is none of IPv4", words[1])
	}
	return Lease{Name: words[0], Address: address}, nil
}
