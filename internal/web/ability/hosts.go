package ability

import (
	"cmp"
	"slices"

	"github.com/realmgate/realmgate/internal/registry"
)

// HostsOf are the hosts with web names, in the order of the configuration.
func HostsOf(r *registry.Registry) (hosts []Host) {
	for _, s := range r.WebServices() {
		if n := len(hosts); n == 0 || hosts[n-1].Name != s.Owner {
			hosts = append(hosts, Host{Name: s.Owner, Address: s.Host})
		}
		host := &hosts[len(hosts)-1]
		host.Sites = append(host.Sites, Site{Names: s.Names, Ports: s.Ports})
	}
	return hosts
}

// guestsOf are hosts that come and go by themselves, by their names.
func guestsOf(registered []*registry.Host) (hosts []Host) {
	for _, h := range registered {
		guest := Host{Name: h.Name, Address: h.Address, Guest: h}
		for _, s := range h.WebServices() {
			guest.Sites = append(guest.Sites, Site{Names: s.Names, Ports: s.Ports})
		}
		hosts = append(hosts, guest)
	}
	slices.SortFunc(hosts, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	return hosts
}
