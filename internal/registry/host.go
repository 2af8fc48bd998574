package registry

import (
	"errors"
	"fmt"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

var errNoZone = errors.New("it is in no zone")

// newHost makes a host and what its names stand for. zone finds the zone of a name.
func newHost(spec HostSpec, zone func(model.Name) (model.Name, bool)) (*Host, []Entry, error) {
	h := &Host{Name: spec.Name, Address: spec.Address}
	if !h.Address.IsValid() {
		return nil, nil, fmt.Errorf("host %s has no address", h.Name)
	}
	var entries []Entry
	services := spec.Services
	if len(spec.Open) > 0 {
		services = append([]ServiceSpec{{Names: []model.Name{h.Name}, Ports: spec.Open, Web: spec.Web, Redirect: spec.Redirect}}, services...)
	} else {
		entries = append(entries, Entry{Name: h.Name, Host: h})
	}
	merged, err := Merge(services)
	if err != nil {
		return nil, nil, fmt.Errorf("host %s: %w", h.Name, err)
	}
	for _, of := range merged {
		s := &Service{
			Name: of.Names[0], Names: of.Names, Owner: h.Name, Identity: spec.Identity, Client: spec.Client, Host: h.Address,
			Ports: of.Ports, All: of.Ports[0] == model.Port{}, Web: of.Web, Redirect: of.Redirect,
		}
		h.Services = append(h.Services, s)
		for _, name := range s.Names {
			if name == h.Name {
				h.Own = s
			}
			entries = append(entries, Entry{Name: name, Host: h, Service: s})
		}
	}
	for _, e := range entries {
		in, ok := zone(e.Name)
		if !ok {
			return nil, nil, fmt.Errorf("name %s: %w", e.Name, errNoZone)
		}
		if e.Service != nil {
			e.Service.Zones = append(e.Service.Zones, in)
		}
	}
	for _, s := range h.Services {
		slices.Sort(s.Zones)
		s.Zones = slices.Compact(s.Zones)
	}
	return h, entries, nil
}
