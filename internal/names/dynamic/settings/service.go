package settings

import (
	"fmt"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Service is what a name of each host opens.
type Service struct {
	Label string // before the host's name; "": it is the host's own
	Ports []model.Port
	Web   bool // the names are web names
	NoWeb bool // it was said that they are none
}

// Same reports that two open the same by the same name.
func (s Service) Same(other Service) bool {
	return s.Label == other.Label && s.Web == other.Web && slices.Equal(s.Ports, other.Ports)
}

type service struct {
	schema.Begun
	label schema.At[string]
	ports []schema.At[[]model.Port]
	web   schema.At[bool]
}

func (s *service) keys() []schema.Key {
	return []schema.Key{
		schema.OneAt("name", &s.label.Value, &s.label.Line, label()).Otherwise("the host's own name"),
		schema.Many("ports", &s.ports, schema.OpenPorts(false), 1).Must(),
		schema.OneAt("web", &s.web.Value, &s.web.Line, schema.Boolean()).Otherwise("by its ports"),
	}
}

// label is the first label of a name.
func label() schema.Kind[string] {
	k := schema.Label()
	k.Want = "one label of a name, as www"
	parse := k.Parse
	k.Parse = func(text string) (string, error) {
		text, err := parse(text)
		if err == nil {
			_, err = model.ParseName(text)
		}
		return text, err
	}
	return k
}

// isWeb reports whether a service's names are web names.
func (e *entry) isWeb(faults *schema.Faults, s *service, ports []schema.At[model.Port], at string, web Web) bool {
	if e.entry.HasWeb() {
		return web.IsName(faults, s.web, ports, at)
	}
	if s.web.Value {
		faults.Add(s.web.Line, "%s.web: hosts of a file have no web names: register them by kea, dnsmasq or update", at)
	}
	return false
}

// finishServices completes what hosts open.
func (e *entry) finishServices(faults *schema.Faults, path string, web Web) {
	seen, names := map[uint32]model.Port{}, schema.Once[string]{} // seen are ports of the pool
	n := 0
	for j, s := range e.services {
		at := fmt.Sprintf("%s.services[%d]", path, j)
		if s.Line > 0 {
			names.Take(faults, at+".name", s.label.Value, max(s.label.Line, s.Line))
		}
		opened := s.opened(faults, at)
		if n += len(opened); n > mostPorts {
			faults.Add(opened[0].Line, "%s.ports: up to here a host opens %d ports, at most %d are allowed", at, n, mostPorts)
			return
		}
		made := Service{Label: s.label.Value, Ports: schema.Values(opened), Web: e.isWeb(faults, s, opened, at, web), NoWeb: s.web.Line > 0 && !s.web.Value}
		among := seen
		if made.Web { // told apart by its name
			among = map[uint32]model.Port{}
		}
		for _, p := range opened {
			if before, taken := among[p.Value.Key()]; taken && before != p.Value {
				faults.Add(p.Line, "%s.ports: %s is %s already: a port outside leads to one of the host", at, p.Value, before)
			}
			among[p.Value.Key()] = p.Value
		}
		e.entry.Services = append(e.entry.Services, made)
	}
}

// opened are the service's ports, each once.
func (s *service) opened(faults *schema.Faults, at string) (list []schema.At[model.Port]) {
	for _, ports := range s.ports {
		for _, p := range ports.Value {
			one := schema.At[model.Port]{Value: p, Line: ports.Line}
			if slices.ContainsFunc(list, func(before schema.At[model.Port]) bool { return before.Value == p }) {
				faults.Add(ports.Line, "%s.ports: %s is already listed", at, p)
				continue
			}
			list = append(list, one)
		}
	}
	return list
}
