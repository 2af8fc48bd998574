package reload

import (
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
)

// ConfigDiff implements api.ConfigCommands. Changes do not wait for it: it tells of what was in force when it began.
func (s *Service) ConfigDiff() (api.ConfigDiff, error) {
	now := s.options.InForce()
	was := now.Document
	is, err := config.Read(s.options.File)
	if err != nil {
		return api.ConfigDiff{}, err
	}
	done := api.ConfigDiff{Generation: now.Generation, File: s.options.File, Restart: s.options.Immutable(is)}
	for _, d := range config.Differences(was, is) {
		done.Differences = append(done.Differences, api.Difference(d))
	}
	changes := servicesOf(was.Config).changes(servicesOf(is.Config))
	if err := s.options.Sessions(changes.count); err != nil {
		return api.ConfigDiff{}, err
	}
	for _, c := range changes.list {
		done.Services = append(done.Services, *c)
	}
	done.Differences, done.Left = first(done.Differences, done.Left)
	done.Services, done.Left = first(done.Services, done.Left)
	return done, nil
}

// first is what a list may have, and left with what it has more.
func first[T any](list []T, left int) ([]T, int) {
	n := min(len(list), api.MostDifferences)
	return list[:n], left + len(list) - n
}

// service is what a name opens.
type service struct {
	host    model.Name
	address netip.Addr
	ports   []model.Port
}

// services are those of a configuration by their names, and which ports of which hosts sessions from outside may reach by any.
type services struct {
	order []model.Name
	of    map[model.Name]service
	open  map[target]bool
}

// target is where sessions go; a zero port is every port, with no protocol everything.
type target struct {
	host     netip.Addr
	protocol model.Protocol
	port     uint16
}

func servicesOf(c *config.Config) services {
	s := services{of: map[model.Name]service{}, open: map[target]bool{}}
	add := func(name, host model.Name, address netip.Addr, ports []model.Port) {
		if len(ports) == 0 {
			return
		}
		s.order = append(s.order, name)
		s.of[name] = service{host, address, ports}
		for _, p := range ports {
			s.open[target{address, p.Protocol, p.To}] = true
		}
	}
	for _, h := range c.Hosts {
		add(h.Name, h.Name, h.Address, h.Open)
		for _, of := range h.Services {
			for _, name := range of.Names {
				add(name, h.Name, h.Address, of.Ports)
			}
		}
	}
	return s
}

// leads reports whether sessions may go there.
func (s services) leads(session api.Session) bool {
	host := session.Private.Addr()
	port := session.Private.Port()
	if session.Protocol == model.ICMP {
		port = 0
	}
	return s.open[target{host, session.Protocol, port}] || s.open[target{host: host}]
}

// changes are names that open something else.
type changes struct {
	list []*api.ServiceChange
	by   map[string]*api.ServiceChange // that close something
	is   services
}

func (s services) changes(is services) *changes {
	c := &changes{by: map[string]*api.ServiceChange{}, is: is}
	for _, name := range s.order {
		was, now := s.of[name], is.of[name]
		change := &api.ServiceChange{Host: string(was.host), Name: string(name)}
		change.Closes, change.Opens = without(was.ports, now.ports), without(now.ports, was.ports)
		if now.ports != nil && (now.host != was.host || now.address != was.address) {
			change.Closes, change.Opens = was.ports, now.ports
		}
		if len(change.Closes) > 0 {
			c.by[change.Name] = change
		}
		if len(change.Closes)+len(change.Opens) > 0 {
			c.list = append(c.list, change)
		}
	}
	for _, name := range is.order {
		if _, known := s.of[name]; !known {
			c.list = append(c.list, &api.ServiceChange{Host: string(is.of[name].host), Name: string(name), Opens: is.of[name].ports})
		}
	}
	return c
}

// without are the ports that another list does not have.
func without(ports, other []model.Port) []model.Port {
	var left []model.Port
	for _, p := range ports {
		if !slices.Contains(other, p) {
			left = append(left, p)
		}
	}
	return left
}

// count adds a session to the name whose ports it was let in by, if it ends with them.
func (c *changes) count(s api.Session) bool {
	change := c.by[s.Name]
	if change == nil || c.is.leads(s) && s.Origin != "web" {
		return true
	}
	for _, p := range change.Closes {
		if p == (model.Port{}) || p.Protocol == s.Protocol && (p.To == s.Private.Port() || p.Protocol == model.ICMP) {
			change.Sessions++
			break
		}
	}
	return true
}
