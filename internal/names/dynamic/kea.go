package dynamic

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// keaColumns are those of Kea's memfile that are read; versions differ by others.
var keaColumns = []string{"address", "hwaddr", "client_id", "valid_lifetime", "expire", "hostname", "state"}

// keaHeader says where the columns are.
type keaHeader []int

// keaInUse is the state of a lease that somebody has; others are declined or have expired.
const keaInUse = "0"

// parseKeaHeader reads the first line of such a file.
func parseKeaHeader(line string) (keaHeader, error) {
	names := strings.Split(line, ",")
	h := make(keaHeader, len(keaColumns))
	for i, column := range keaColumns {
		if h[i] = slices.Index(names, column); h[i] < 0 {
			return nil, fmt.Errorf("its first line has no column %s: it is no lease file of Kea's DHCPv4 server", column)
		}
	}
	return h, nil
}

// parse reads a line. The last one of an address counts; that of an address which nobody has any more says that it is over.
func (h keaHeader) parse(line string) (Lease, error) {
	fields := strings.Split(line, ",")
	if last := slices.Max(h); last >= len(fields) {
		return Lease{}, fmt.Errorf("it has %d columns, and the first line more", len(fields))
	}
	at := func(i int) string { return fields[h[i]] }
	address, err := netip.ParseAddr(at(0))
	if err != nil || !address.Is4() {
		return Lease{}, fmt.Errorf("the address %q is none of IPv4", at(0))
	}
	lasts, err := strconv.ParseUint(at(3), 10, 32)
	if err != nil {
		return Lease{}, fmt.Errorf("the lifetime %q is no number of seconds", at(3))
	}
	expire, err := strconv.ParseInt(at(4), 10, 64)
	if err != nil || expire < 0 {
		return Lease{}, fmt.Errorf("the end %q is no time", at(4))
	}
	if at(6) == "" {
		return Lease{}, errors.New("it has no state")
	}
	l := Lease{Address: address, Name: at(5), Client: at(2), Ends: time.Unix(expire, 0)}
	switch {
	case at(6) != keaInUse || lasts == 0: // 0 seconds: it was released
		l.Ends = time.Unix(0, 0)
	case lasts == math.MaxUint32:
		l.Ends = time.Time{}
	}
	if l.Client == "" {
		l.Client = at(1)
	}
	return l, nil
}
