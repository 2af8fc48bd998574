package allocation

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
)

// An address that was of the pool just now is nothing else until it has rested, also no name server's. One that is in the
// pool still may be; and one of which ports were lent may be outbound, as those are kept from mappings.
func TestCheckResting(t *testing.T) {
	was, other := netip.MustParseAddr("198.18.0.0"), netip.MustParseAddr("198.18.0.9")
	for _, everything := range []bool{false, true} {
		lent := web(1)
		if everything {
			lent.Ports = []model.Port{{Protocol: model.AnyProtocol}}
		}
		w := newWorld(t, 1, named{lent})
		w.mustAsk(client, lent)
		w.claim()
		for use, refused := range map[string]bool{
			"nothing": false, "outbound": everything, "dnat": true, "host": true, "public server": true, "private server": true,
			"outbound and in the pool": false, "dnat and in the pool": false,
		} {
			c := new(config.Config)
			c.DNS.Public, c.DNS.Private = netip.AddrPortFrom(other, 53), netip.MustParseAddrPort("10.0.0.1:53")
			outbound, dnat := []netip.Addr{other}, []netip.Addr{}
			what, pooled := strings.CutSuffix(use, " and in the pool")
			if pooled {
				c.Pool.Addresses = []netip.Addr{was}
			}
			switch what {
			case "outbound":
				outbound = append(outbound, was)
			case "dnat":
				dnat = append(dnat, was)
			case "host":
				c.Hosts = slices.Grow(c.Hosts, 1)[:1]
				c.Hosts[0].OneToOne = was
			case "public server":
				c.DNS.Public = netip.AddrPortFrom(was, 53)
			case "private server":
				c.DNS.Private = netip.AddrPortFrom(was, 53)
			}
			err := w.CheckResting(c, outbound, dnat)
			if (err != nil) != refused || refused && (!strings.HasPrefix(err.Error(), "198.18.0.0 was of the pool") || !strings.HasSuffix(err.Error(), "in 12m10s")) {
				t.Errorf("%s, all of it lent: %t: %v, want it refused: %t", use, everything, err, refused)
			}
		}
		w.pass(rest + time.Second)
		if err := w.CheckResting(new(config.Config), nil, []netip.Addr{was}); err != nil {
			t.Errorf("when it has rested: %v", err)
		}
	}
}

// A reload checks addresses while the machine's own change, which has the pool look at its configuration anew.
func TestCheckRestingBesideReconsider(t *testing.T) {
	w := newWorld(t, 2, webs(2))
	var both sync.WaitGroup
	both.Go(func() {
		for range 100 {
			if err := w.CheckResting(new(config.Config), nil, nil); err != nil {
				t.Error(err)
			}
		}
	})
	both.Go(func() {
		for range 100 {
			if err := w.Reconsider(); err != nil {
				t.Error(err)
			}
		}
	})
	both.Wait()
}
