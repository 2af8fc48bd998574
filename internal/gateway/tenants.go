package gateway

import (
	"errors"
	"io/fs"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/tenants"
)

// tenantsEvery is how often the machine's other tenants are looked for: large rule sets take
// a while to read.
const tenantsEvery = 10 * time.Second

// tenants says what others on this machine do to the gateway's packets.
func (g *Gateway) tenants() []string {
	v := g.view.Load()
	xdp := slices.ContainsFunc(g.data.Interfaces(), func(i datapath.Interface) bool { return i.Mode == datapath.XDP })
	return tenantsOf(v.config, v.outbound, xdp, g.data.IsOurs)
}

func tenantsOf(c *config.Config, outbound []netip.Addr, xdp bool, ours func(uint32) bool) []string {
	found, err := tenants.Find(&tenants.Setup{
		Public: c.Interfaces.Public, Private: c.Interfaces.Private, Stack: c.Interfaces.Stack,
		External: slices.Concat(outbound, c.Pool.Addresses), XDP: xdp, IsOurs: ours,
	})
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		found = append(found, err.Error())
	}
	return found
}
