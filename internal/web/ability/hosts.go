package ability

import "github.com/realmgate/realmgate/internal/registry"

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
