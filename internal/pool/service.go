package pool

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// Service is what names stand for.
type Service struct {
	Name  model.Name // identifies it
	Owner model.Name // the host's name
	// Identity is who the owner is under any name, the same as of nobody else; "": whoever has the name. I9 is about owners.
	Identity string
	Client   bool         // Identity is a client's of a lease: of two such the one is not the other under another name
	Zones    []model.Name // of all its names; not to be changed once handed over
	Host     netip.Addr
	Ports    []model.Port // not to be changed once handed over
}

// MaxPorts bounds the ports of one service.
const MaxPorts = 1024

// Name is unique among them, and no port is there twice.
func (s *Service) valid() bool {
	if s.Name == "" || s.Owner == "" || !s.Host.IsValid() || len(s.Ports) == 0 || len(s.Ports) > MaxPorts {
		return false
	}
	for i, port := range s.Ports {
		if !port.Valid() || port == (model.Port{}) && len(s.Ports) > 1 || i > 0 && s.Ports[i-1].Key() == port.Key() {
			return false
		}
	}
	return true
}

// normal returns the service with its ports in order.
func (s Service) normal() Service {
	s.Ports = slices.Clone(s.Ports)
	slices.SortFunc(s.Ports, func(a, b model.Port) int { return cmp.Compare(a.Key(), b.Key()) })
	return s
}

// All reports that the service takes a whole address.
func (s *Service) All() bool { return slices.Equal(s.Ports, []model.Port{{}}) }

// datagrams reports whether the service opens anything but TCP. Nothing tells the first packet of such a session from the
// next one of a session that stands: the same client and ports would reach the host that had the place before.
func (s *Service) datagrams() bool {
	return slices.ContainsFunc(s.Ports, func(p model.Port) bool { return p.Protocol != model.TCP })
}

// sameHost reports that a binding of s can go on as one of o: I4.
func (s *Service) sameHost(o *Service) bool {
	return s.Owner == o.Owner && s.Host == o.Host && (s.Identity == o.Identity || s.Identity == "") // "": an earlier version kept none
}
