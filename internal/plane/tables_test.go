package plane

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// A binding's slot is used again when the records of its sessions have gone: the
// shorter the rest, the more there have to be.
func TestShortRestNeedsManyBindings(t *testing.T) {
	for _, c := range []struct {
		addresses, services int
		rest                time.Duration
		want                int
	}{
		{16, 10, 130 * time.Second, 256}, {16, 200, 130 * time.Second, 800},
		{16, 200, time.Second, 5000}, {256, 10, time.Second, 65535}, {16, 10, time.Hour, 256},
	} {
		configuration := new(config.Config)
		configuration.Pool.Addresses, configuration.Pool.Rest = make([]netip.Addr, c.addresses), c.rest
		if got := bindings(configuration, c.services); got != c.want {
			t.Errorf("%d addresses, %d services, rest %s: %d bindings, not %d", c.addresses, c.services, c.rest, got, c.want)
		}
	}
}

// The tables of edges are as large as is configured.
func TestTablesOfEdges(t *testing.T) {
	t.Parallel()
	c := new(config.Config)
	c.Pool.Rest, c.Edges.Pacts, c.Edges.Links = time.Hour, 16384, 512
	if o := (&Plane{}).tables(Wants{Config: c}); o.Pacts != 16384 || o.Links != 512 {
		t.Errorf("%d pacts, %d links", o.Pacts, o.Links)
	}
}

// What starts can be reloaded, however many hosts may register themselves: there are no more bindings than a table can have.
func TestRoomIsNoMoreThanATableCanHave(t *testing.T) {
	t.Parallel()
	c := new(config.Config)
	c.Pool.Rest = time.Hour
	for n := range 60_000 {
		c.Pool.Addresses = append(c.Pool.Addresses, netip.AddrFrom4([4]byte{198, 18, byte(n >> 8), byte(n)}))
	}
	c.Dynamic = slices.Grow(c.Dynamic, 7)[:7]
	for i := range c.Dynamic {
		e := &c.Dynamic[i]
		e.Services = slices.Grow(e.Services, 1)[:1]
		e.Services[0].Ports = []model.Port{{Protocol: model.TCP, Port: 22, To: 22}}
	}
	wants := func(static int) Wants {
		return Wants{Config: c, Bindings: static, Ports: static, Room: RoomFor(c)}
	}
	for _, static := range []int{0, 2000, 30_000} {
		o := (&Plane{}).tables(wants(static))
		r := sizesFor(&o)
		r.Slots = 1
		for _, next := range []int{static, static / 2} {
			if err := r.validate(wants(static), wants(next)); err != nil {
				t.Errorf("%d services, then %d: %v", static, next, err)
			}
		}
		if err := r.validate(wants(40_000), wants(40_000)); err == nil {
			t.Error("80,000 bindings have room")
		}
	}
}

// A start is refused for no room that nothing could ever take: an address has each port once, whoever registers.
func TestPortsHaveRoom(t *testing.T) {
	t.Parallel()
	ports := func(first, n int) (list []model.Port) {
		for i := range n {
			list = append(list, model.Port{Protocol: model.TCP, Port: uint16(first + i), To: uint16(first + i)}) //nolint:gosec // few
		}
		return list
	}
	for _, c := range []struct {
		addresses, entries, ports, apart int
		static                           int
		want, room                       int
	}{
		{16, 1, 1, 0, 10, 4096, 16},
		{16, 64, 64, 0, 10, 4096, 1024},                           // the same ports of all
		{1024, 4, 64, 100, 0, 2 * 4 * 64 * 1024, 4 * 64 * 1024},   // each entry has its own
		{65536, 64, 64, 0, 0, datapath.MaxBoundPorts, 64 * 65536}, // as many as a table can have
		{65536, 64, 64, 100, 30_000, datapath.MaxBoundPorts, datapath.MaxBoundPorts},
	} {
		configuration := new(config.Config)
		configuration.Pool.Rest = time.Hour
		configuration.Pool.Addresses = make([]netip.Addr, c.addresses)
		for i := range configuration.Pool.Addresses {
			configuration.Pool.Addresses[i] = netip.AddrFrom4([4]byte{198, byte(18 + i>>16), byte(i >> 8), byte(i)})
		}
		configuration.Dynamic = slices.Grow(configuration.Dynamic, c.entries)[:c.entries]
		for i := range configuration.Dynamic {
			e := &configuration.Dynamic[i]
			e.Source = 2 // a file of hosts
			e.Services = slices.Grow(e.Services, 1)[:1]
			e.Services[0].Ports = ports(1+i*c.apart, c.ports)
		}
		wants := Wants{Config: configuration, Ports: c.static, Room: RoomFor(configuration)}
		o := (&Plane{}).tables(wants)
		if o.BoundPorts != c.want || wants.Room.Ports != c.room {
			t.Errorf("%d entries of %d ports at %d addresses: room for %d of %d ports, want %d of %d",
				c.entries, c.ports, c.addresses, wants.Room.Ports, o.BoundPorts, c.room, c.want)
		}
		r := sizesFor(&o)
		r.Slots = 1
		if err := r.validate(wants, wants); err != nil {
			t.Errorf("it starts, and cannot be loaded again: %v", err)
		}
		if err := wants.fit(); err != nil {
			t.Error(err)
		}
		wants.Ports = datapath.MaxBoundPorts + 1
		if err := wants.fit(); err == nil || !strings.Contains(err.Error(), "at most 4194304") {
			t.Errorf("of %d ports it says %v", wants.Ports, err)
		}
		if err := r.validate(wants, wants); err == nil {
			t.Error("more ports than a table can have are let in")
		}
	}
}
