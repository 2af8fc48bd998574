package realm

import (
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/registry"
)

// Hosts are those that a filter lets through. registered says of one that comes and goes by what it has registered itself, and
// when that ends.
func (d *Realm) Hosts(filter api.Filter, registered func(model.Name) (source string, ends time.Time)) []api.Host {
	list := []api.Host{}
	for _, h := range d.Registry.Hosts() {
		if host := describe(h); filter.MatchHost(host) {
			list = append(list, host)
		}
	}
	for _, h := range d.registered.hosts() {
		host := describe(h)
		if host.Source, host.Ends = registered(h.Name); filter.MatchHost(host) {
			list = append(list, host)
		}
	}
	return list
}

func describe(h *registry.Host) api.Host {
	host := api.Host{Name: h.Name.String(), Address: h.Address, Open: []model.Port{}, Services: []api.Service{}}
	if h.Own != nil {
		host.Open = h.Own.Ports
	}
	for _, s := range h.Services {
		service := api.Service{Ports: s.Ports}
		for _, name := range s.Names {
			service.Names = append(service.Names, name.String())
		}
		host.Services = append(host.Services, service)
	}
	return host
}
