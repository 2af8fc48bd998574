package shared

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/registry"
)

var pooled, named, outside = netip.MustParseAddr("198.18.0.32"), netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.0.2")

// machine has an address, and counts how often it looks at sockets.
type machine struct {
	own               netip.Addr
	looked, forgotten int
}

func (m *machine) Owns(a netip.Addr) bool                      { return a == m.own }
func (m *machine) Listens(model.Protocol, netip.AddrPort) bool { return false }
func (m *machine) Addresses() map[netip.Addr]bool              { return map[netip.Addr]bool{m.own: true} }
func (m *machine) LookAtSockets() error                        { m.looked++; return nil }
func (m *machine) ForgetSockets()                              { m.forgotten++ }

// A pool address that the machine has itself is not lent, in log and status, unless it is outbound too: then its ports are.
func TestOwnAddressIsTold(t *testing.T) {
	t.Parallel()
	c := new(config.Config)
	c.Pool.Addresses = []netip.Addr{pooled}
	for _, x := range []struct {
		own      netip.Addr
		outbound []netip.Addr
		told     bool
	}{{pooled, nil, true}, {named, nil, false}, {pooled, []netip.Addr{pooled}, false}} {
		m, log := &machine{own: x.own}, new(bytes.Buffer)
		s := Addresses{Config: c, Registry: new(registry.Registry), Outbound: x.outbound}
		l := Live{Machine: m}
		l.LogOwn(s, slog.New(slog.NewTextHandler(log, nil)))
		warnings := strings.Join(l.Warnings(s), "\n")
		for _, said := range []string{log.String(), warnings} {
			if strings.Contains(said, "198.18.0.32") != x.told {
				t.Errorf("with %s on an interface and %v outbound: %q", x.own, x.outbound, said)
			}
		}
		if err := l.LookAtSockets(s); err != nil || m.looked != len(x.outbound) || m.forgotten != 1-m.looked {
			t.Errorf("with %v outbound: looked at sockets %d times, forgot them %d times: %v", x.outbound, m.looked, m.forgotten, err)
		}
	}
}

// Before the interface's addresses are known, the name server's is taken for one of them.
func TestBefore(t *testing.T) {
	t.Parallel()
	c := new(config.Config)
	c.Pool.Addresses, c.DNS.Public = []netip.Addr{named}, netip.AddrPortFrom(named, 53)
	for interfaces, lends := range map[string]bool{"eth0": true, "": false} {
		c.Outbound.Interfaces, c.Outbound.Addresses = strings.Fields(interfaces), []netip.Addr{outside}
		if s := Before(c, new(registry.Registry), []netip.Addr{outside}); s.Lends(named) != lends || s.Lends(outside) {
			t.Errorf("outbound of interfaces %q: %v", interfaces, s.Outbound)
		}
	}
}

// What the pool has for names is looked at once, and not for each of 65,536 hosts at as many addresses.
func TestCheckTakesNothingForEachService(t *testing.T) {
	c := new(config.Config)
	c.Pool.Addresses = []netip.Addr{pooled, outside}
	check := func(hosts int) float64 {
		var specs []registry.HostSpec
		for n := range hosts {
			specs = append(specs, registry.HostSpec{
				Name: model.Name(fmt.Sprintf("h%d.example.", n)), Address: netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}),
				Open: []model.Port{{Protocol: model.TCP, Port: 22, To: 22}},
			})
		}
		r, err := registry.New([]model.Name{"example."}, specs)
		if err != nil {
			t.Fatal(err)
		}
		s := Addresses{Config: c, Registry: r, Outbound: []netip.Addr{pooled}}
		return testing.AllocsPerRun(5, func() {
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
		})
	}
	if one, many := check(1), check(100); many > one {
		t.Errorf("it takes memory %g times for 100 hosts, and %g for one", many, one)
	}
}

// Ports of hosts that may register themselves are kept from mappings before any has: the pool and the outbound connections share
// the address. What can never be lent of it is refused.
func TestPortsOfRegisteredHosts(t *testing.T) {
	t.Parallel()
	c := new(config.Config)
	c.Pool.Addresses = []netip.Addr{pooled}
	c.DNS.Public = netip.AddrPortFrom(pooled, 53)
	open := func(protocol model.Protocol, port uint16) Addresses {
		of := *c
		of.Dynamic = slices.Grow(c.Dynamic, 1)[:1]
		e := &of.Dynamic[0]
		e.Zone, e.Services = "home.example.", slices.Grow(e.Services, 1)[:1]
		e.Services[0].Ports = []model.Port{{Protocol: protocol, Port: port, To: port}}
		return Addresses{Config: &of, Registry: new(registry.Registry), Outbound: []netip.Addr{pooled}}
	}
	s := open(model.TCP, 22)
	if got := s.Kept(); len(got) != 1 || got[0] != (datapath.Service{Host: pooled, Protocol: model.TCP, Port: 22}) || s.Check() != nil {
		t.Errorf("%+v are kept: %v", got, s.Check())
	}
	if err := open(model.UDP, 53).Check(); err == nil || !strings.Contains(err.Error(), "dynamic: hosts of home.example. open udp/53") || !strings.Contains(err.Error(), "name server") {
		t.Errorf("%v", err)
	}
	web := open(model.TCP, 443)
	web.Config.Dynamic[0].Services[0].Web = true
	web.Config.Web.Addresses = []netip.Addr{pooled}
	want := datapath.Service{Host: pooled, Protocol: model.TCP, Port: 443}
	if got := web.Kept(); len(got) != 1 || got[0] != want || !slices.Equal(web.WebPorts(), got) || web.Check() != nil {
		t.Errorf("of a web name %+v are kept: %v", got, web.Check())
	}
	if s.Outbound = nil; len(s.Kept()) > 0 {
		t.Errorf("%+v are kept of an address that is lent whole", s.Kept())
	}
}
