package registry

import (
	"errors"
	"fmt"

	"github.com/realmgate/realmgate/internal/model"
)

// Merge makes one of the services of a host that share a protocol and port which leads to the same port of the host,
// directly or through others: a packet from outside has one (address, protocol, port), so no two of them could stand
// at one address. Their names and ports are united, in the order of the first; what is everything stays alone.
// Services that share none stay apart, and with the same port leading elsewhere they need two addresses. Those of web
// names stay apart, too: their packets are told apart by the names. It is an error when services are one that way and
// contradict each other about another port.
func Merge(services []ServiceSpec) ([]ServiceSpec, error) {
	lists := make([][]model.Port, len(services))
	for i, s := range services {
		if err := check(s); err != nil {
			return nil, err
		}
		if !s.Web {
			lists[i] = s.Ports
		}
	}
	merged := make([]ServiceSpec, 0, len(services))
	for _, group := range model.Joined(lists) {
		var one ServiceSpec
		for _, i := range group {
			one.Names = append(one.Names, services[i].Names...)
			one.Ports = append(one.Ports, services[i].Ports...)
			one.Web, one.Redirect = services[i].Web, services[i].Redirect // alone in its group
		}
		one.Ports = model.SortPorts(one.Ports)
		for i, p := range one.Ports[1:] {
			if before := one.Ports[i]; before.Key() == p.Key() {
				return nil, fmt.Errorf("services %v share a port, and %s port %d goes to %d and to %d: let them share none",
					one.Names, p.Protocol, p.Port, before.To, p.To)
			}
		}
		merged = append(merged, one)
	}
	return merged, nil
}

// check sees to it that a service has what it needs.
func check(s ServiceSpec) error {
	switch {
	case len(s.Names) == 0:
		return errors.New("a service has no name")
	case len(s.Ports) == 0:
		return fmt.Errorf("service %s has no port", s.Names[0])
	}
	for _, p := range s.Ports {
		if !p.Valid() {
			return fmt.Errorf("service %s has the port %+v, which is none", s.Names[0], p)
		}
		if s.Web && !p.Protocol.HasPorts() {
			return fmt.Errorf("service %s is of the web, and from %s no name can be read", s.Names[0], p)
		}
		if p == (model.Port{}) && len(s.Ports) > 1 {
			return fmt.Errorf("service %s has everything and more", s.Names[0])
		}
	}
	return nil
}
