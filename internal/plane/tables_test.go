package plane

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/config"
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
