package explain

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// The port that a flow is taken to come from is one that it may have, however many are in use.
func TestExplainTakesAFreePort(t *testing.T) {
	t.Parallel()
	address, at := netip.MustParseAddr, netip.AddrPortFrom
	source, one, other := address("203.0.113.5"), address("198.18.0.32"), address("198.18.0.33")
	// between has sessions from ports of the source with a port of an address.
	between := func(to netip.Addr, port uint16, first, last int) (open []datapath.Session) {
		for from := first; from <= last; from++ {
			open = append(open, datapath.Session{Protocol: model.TCP, Remote: at(source, uint16(from)), External: at(to, port), Private: at(address("10.0.0.100"), 80)})
		}
		return open
	}
	both := func(a, b []datapath.Session) []datapath.Session { return append(a, b...) }
	for name, c := range map[string]struct {
		open []datapath.Session
		want uint16 // 0: none
	}{
		"none is open":                     {nil, somePort},
		"one is":                           {between(one, 80, somePort, somePort), somePort + 1},
		"one to another address":           {between(other, 80, somePort, somePort), somePort + 1},
		"one of another protocol":          {[]datapath.Session{{Protocol: model.UDP, Remote: at(source, somePort), External: at(one, 80)}}, somePort},
		"one of another source":            {[]datapath.Session{{Protocol: model.TCP, Remote: at(other, somePort), External: at(one, 80)}}, somePort},
		"the upper ones are":               {between(one, 80, somePort, 65535), 1},
		"all but one":                      {both(between(one, 80, 1, 4999), between(one, 80, 5001, 65535)), 5000},
		"all are":                          {between(one, 80, 1, 65535), 0},
		"all to another address":           {between(other, 80, 1, 65535), somePort},
		"all to another port":              {between(one, 81, 1, 65535), somePort},
		"all to another address but these": {both(between(other, 80, 1, 65535), between(one, 80, somePort, somePort+2)), somePort + 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := Flow{Direction: model.In, Protocol: model.TCP, Source: source, Destination: one, Port: 80}
			port, err := f.freePort(c.open)
			if port != c.want || (err == nil) != (c.want != 0) {
				t.Errorf("port %d, want %d: %v", port, c.want, err)
			}
		})
	}
	f := Flow{Direction: model.Out, Protocol: model.UDP, Source: source, Destination: one, Port: 53}
	open := []datapath.Session{{Protocol: model.UDP, Private: at(source, somePort), Remote: at(other, 53)}} // its mapping does for both
	if port, err := f.freePort(open); port != somePort || err != nil {
		t.Errorf("port %d: %v", port, err)
	}
}
