package daemon

import (
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/web/rest"
)

// openWebRest learns which ports of the web rest since an earlier daemon.
func (g nameServices) openWebRest(d *draft) (change, error) {
	var err error
	if d.webRest, err = rest.Read(g.store, d.shared().AllWebPorts(), time.Now()); err != nil {
		g.log.Warn("ports that rest not read", "error", err)
	}
	return g.restWeb(d)
}

// prepareWebRest has what leaves the web rest.
func (g nameServices) prepareWebRest(d *draft) (change, error) {
	d.webRest = d.before.webRest.Next(d.before.shared().AllWebPorts(), d.shared().AllWebPorts(), d.before.config.Web.TTL, time.Now())
	return g.restWeb(d)
}

// restWeb refuses that what rests is something else already, but for the pool, which waits.
func (g nameServices) restWeb(d *draft) (change, error) {
	whole := slices.Concat(d.dnat.Addresses, d.config.Hosts.OneToOneAddresses())
	if err := d.webRest.Refuse(whole, d.dnat.Ports, time.Now()); err != nil {
		return change{}, err
	}
	return change{Settle: func() {
		if err := d.webRest.Write(g.store, d.shared().AllWebPorts(), d.config.Web.TTL); err != nil {
			g.log.Error("ports of the web not kept", "hint", "after a reboot they may be others' too soon", "error", err)
		}
	}}, nil
}

// rests reports whether a port of the pool is kept from all others, as names of the web were answered with it.
func (v *view) rests(a netip.Addr, p model.Protocol, port uint16) bool {
	return len(v.webRest) > 0 && v.webRest.Left(a, p, port, time.Now()) > 0
}

// restingWeb are the ports of outbound addresses that no mapping gets for that.
func (v *view) restingWeb() []datapath.Service {
	return v.webRest.At(func(a netip.Addr) bool { return slices.Contains(v.outbound, a) }, time.Now())
}
