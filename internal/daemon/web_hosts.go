package daemon

import (
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/registry"
	"github.com/realmgate/realmgate/internal/web/ability"
)

func (g nameServices) newWebHosts() *ability.Service {
	return ability.New(ability.Options{
		Plane:  func() ability.Plane { return g.data },
		Store:  func() ability.Store { return g.store },
		Events: &g.events, Log: g.log,
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
	return g.webHosts.Prepare(webHostsOf(d.realm.Registry), d.config.Web.Addresses), nil
}

// webHostsOf are the hosts with web names, in the order of the configuration.
func webHostsOf(r *registry.Registry) (hosts []ability.Host) {
	for _, s := range r.WebServices() {
		if n := len(hosts); n == 0 || hosts[n-1].Name != s.Owner {
			hosts = append(hosts, ability.Host{Name: s.Owner, Address: s.Host})
		}
		host := &hosts[len(hosts)-1]
		host.Sites = append(host.Sites, ability.Site{Names: s.Names, Ports: s.Ports})
	}
	return hosts
}
