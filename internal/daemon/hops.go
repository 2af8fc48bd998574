package daemon

import "slices"

// prepareHops gives a draft the next hops of now, where the file was read.
func (g machineServices) prepareHops(d *draft) (_ change, err error) {
	if d.wanted.read {
		d.hops, err = g.machine.NextHops()
	} else {
		d.hops = d.before.hops
	}
	return change{}, err
}

// readNextHops has old bans drop no new next hop. False where it is too early to look.
func (g *Daemon) readNextHops() bool {
	before, early := g.machine.LastNextHops()
	if early {
		return false
	}
	list, err := g.machine.NextHops()
	if err != nil {
		g.log.Warn("route update failed", "error", err)
	}
	if err == nil && !slices.Equal(before, list) {
		g.bans.ExemptSoon()
	}
	return true
}
