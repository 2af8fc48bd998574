package gateway

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/api"
)

// prepareHops gives a draft the next hops of now, where the file was read.
func (g machineServices) prepareHops(d *draft) (_ change, err error) {
	if d.read {
		d.hops, err = g.machine.NextHops()
	} else {
		d.hops = d.before.hops
	}
	return change{}, err
}

// reportHops says that the kernel looks at no neighbour before it chooses a next hop.
func (g machineServices) reportHops(s *api.Status) error {
	const setting = "net.ipv4.fib_multipath_use_neigh"
	value, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(setting, ".", "/"))
	if n := len(g.machine.SharedNextHops()); n > 0 && err == nil && strings.TrimSpace(string(value)) == "0" {
		s.Remedies = append(s.Remedies, fmt.Sprintf("%d next hops share routes: sysctl -w %s=1, or one that fails gets its flows all the same (nexthop objects do not need it)", n, setting))
	}
	return nil
}

// lookAtHops has old bans drop no new next hop. False where it is too early to look.
func (g *Gateway) lookAtHops() bool {
	before, early := g.machine.LastNextHops()
	if early {
		return false
	}
	list, err := g.machine.NextHops()
	if err != nil {
		g.log.Warn("following the routes", "error", err)
	}
	if err == nil && !slices.Equal(before, list) {
		g.bans.SpareSoon()
	}
	return true
}
