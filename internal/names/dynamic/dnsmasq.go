package dynamic

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// parseDnsmasq reads a line of the lease file of dnsmasq: "expiry mac ip name client-id", "*" for what is not known. Those of
// DHCPv6, and the server's own identity, are not ours.
func parseDnsmasq(line string) (Lease, error) {
	fields := strings.Fields(line)
	if len(fields) == 2 && fields[0] == "duid" {
		return Lease{}, errNotOurs
	}
	if len(fields) != 5 {
		return Lease{}, fmt.Errorf("want expiry, MAC, address, name and client, not %d words", len(fields))
	}
	ends, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || ends < 0 {
		return Lease{}, fmt.Errorf("the expiry %q is no time", fields[0])
	}
	address, err := netip.ParseAddr(fields[2])
	if err != nil {
		return Lease{}, fmt.Errorf("the address %q is none", fields[2])
	}
	if !address.Is4() {
		return Lease{}, errNotOurs
	}
	l := Lease{Address: address, Name: fields[3], Client: fields[4]}
	if l.Name == "*" {
		l.Name = ""
	}
	if l.Client == "*" {
		l.Client = fields[1]
	}
	if ends > 0 { // 0: never
		l.Ends = time.Unix(ends, 0)
	}
	return l, nil
}
