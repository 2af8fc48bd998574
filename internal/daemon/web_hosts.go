package daemon

import (
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/web/ability"
)

func (g nameServices) newWebHosts() *ability.Service {
	return ability.New(ability.Options{
		Plane:  func() ability.Plane { return g.data },
		Store:  func() ability.Store { return g.store },
		Events: &g.events, Registered: g.beside.WebHosts, Log: g.log,
	})
}

// openWebHosts has them where an earlier daemon had them.
func (g nameServices) openWebHosts(d *draft) (change, error) {
	if err := g.webHosts.Read(); err != nil {
		g.log.Warn("web hosts not read", "error", err)
	}
	return g.prepareWebHosts(d)
}

// prepareWebHosts has names be answered at the web addresses of their hosts. These are asked anew where the file was read, or
// the addresses are others.
func (g nameServices) prepareWebHosts(d *draft) (change, error) {
	d.realm = d.realm.Placed(func(host model.Name) (netip.Addr, bool) {
		place := g.webHosts.At(host)
		return place.At, place.Sure
	})
	if !d.wanted.read && slices.Equal(d.before.config.Web.Addresses, d.config.Web.Addresses) {
		return change{}, nil
	}
	return g.webHosts.Prepare(ability.HostsOf(d.realm.Registry), d.config.Web.Addresses), nil
}
