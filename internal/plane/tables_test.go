package plane

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/config"
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
