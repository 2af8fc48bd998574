package daemon

import (
	"slices"

	"github.com/realmgate/realmgate/internal/web/rest"
)

func (g nameServices) resting(v *view) rest.Wanted {
	whole := slices.Concat(v.dnat.Addresses, v.config.Hosts.OneToOneAddresses())
	return rest.Wanted{Web: v.shared().AllWebPorts(), TTL: v.config.Web.TTL, Whole: whole, Ports: v.dnat.Ports, Log: g.log}
}

// openWebRest learns which ports of the web rest since an earlier daemon.
func (g nameServices) openWebRest(d *draft) (c change, err error) {
	d.webRest, c, err = rest.Open(g.store, g.resting(d.view))
	return c, err
}

// prepareWebRest has what leaves the web rest.
func (g nameServices) prepareWebRest(d *draft) (c change, err error) {
	d.webRest, c, err = d.before.webRest.Prepare(g.store, g.resting(d.before), g.resting(d.view))
	return c, err
}
