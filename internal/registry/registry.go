package registry

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

// HostSpec is a host as somebody gives it.
type HostSpec struct {
	Name     model.Name
	Address  netip.Addr
	Open     []model.Port // what its own name opens from outside: nothing, ports, or everything alone
	Web      bool         // its own name is a web name
	Identity string       // who it is under any name; "": whoever has the name
	Client   bool         // Identity is a client's of a lease
	Redirect bool         // of which requests of HTTP are led to https
	Services []ServiceSpec
}

// ServiceSpec is some names of a host and what they open from outside, each at least one.
type ServiceSpec struct {
	Names []model.Name // wildcards among them
	Ports []model.Port // or everything alone
	Web   bool         // the names are web names
	// Redirect says that requests of HTTP for them are led to https.
	Redirect bool
}

// Host is a private host.
type Host struct {
	Name    model.Name
	Address netip.Addr
	// Own is what its own name opens from outside, one of Services; nil: nothing, it is closed.
	Own *Service
	// Services are all that is open of it from outside, in the order of their first names.
	Services []*Service
}

// Service is what its names stand for outside: one answer, and one place in the pool or at the web addresses, for all of
// its ports.
type Service struct {
	Name  model.Name   // the first of Names, which identifies it
	Names []model.Name // in the order of the configuration: a host's own comes first
	Owner model.Name   // the host's name
	// Identity is who the host is under any name; "": whoever has the name.
	Identity string
	Client   bool         // Identity is a client's of a lease
	Zones    []model.Name // that Names are in, in alphabetical order
	Host     netip.Addr
	Ports    []model.Port // by protocol and port; of one that is everything {AnyProtocol}
	All      bool         // everything: it takes an address of its own
	Web      bool         // its names share a web address with those of others, and take none of the pool
	// Redirect says that requests of HTTP for its names are led to https.
	Redirect bool
}

// Redirects reports whether requests at a port are led to https: those of HTTP are.
func (s *Service) Redirects(protocol model.Protocol, port uint16) bool {
	return s.Redirect && protocol == model.TCP && port == 80
}

// Entry is what a name stands for.
type Entry struct {
	// Name is as the configuration has it: for a name that a wildcard answers for, the wildcard.
	Name     model.Name
	Encloser model.Name // the name right below which that wildcard is; empty: the name stands by itself
	Host     *Host
	Service  *Service // what the name opens from outside; nil: it is a host's own, and closed
}

// Registry is the snapshot. The zero value knows no name.
type Registry struct {
	zones     map[model.Name]bool
	hosts     []*Host
	entries   map[model.Name]Entry
	addresses map[netip.Addr]*Host
	// inner are the names that exist only because others are below them
	// (empty non-terminals, RFC 8020), and the zones' own.
	inner map[model.Name]bool
	// others exist because somebody else answers for them.
	others map[model.Name]bool
	above  map[model.Name]bool // see Above
	// registered are hosts beside those of the snapshot; nil: there are none.
	registered *Registered
}

// New makes a snapshot. Names must be in a zone and unique among hosts and services together, and so must hosts'
// addresses. others are names that exist beside those, as the name server's: no wildcard answers for them.
func New(zones []model.Name, hosts []HostSpec, others ...model.Name) (*Registry, error) {
	r := &Registry{
		zones: map[model.Name]bool{}, entries: map[model.Name]Entry{},
		addresses: map[netip.Addr]*Host{}, inner: map[model.Name]bool{}, others: map[model.Name]bool{}, above: map[model.Name]bool{},
	}
	for _, z := range zones {
		r.zones[z], r.inner[z] = true, true
	}
	for _, name := range others {
		r.others[name] = true
		r.noteAbove(name)
	}
	for _, spec := range hosts {
		if err := r.addHost(spec); err != nil {
			return nil, err
		}
	}
	for name, e := range r.entries {
		for up := parent(name); up != ""; up = parent(up) {
			if other, ok := r.entries[up]; ok && other.Service != e.Service {
				r.above[up] = true
			}
		}
	}
	return r, nil
}

func (r *Registry) addHost(spec HostSpec) error {
	h, entries, err := newHost(spec, r.Zone)
	if errors.Is(err, errNoZone) {
		err = fmt.Errorf("%w: use one of %v", err, r.Zones())
	}
	if err != nil {
		return err
	}
	if other, taken := r.addresses[h.Address]; taken {
		return takenAddress(h, other)
	}
	r.hosts = append(r.hosts, h)
	r.addresses[h.Address] = h
	for _, e := range entries {
		if other, taken := r.entries[e.Name]; taken {
			return takenName(e, other)
		}
		r.entries[e.Name] = e
		r.noteAbove(e.Name)
	}
	return nil
}

// noteAbove makes the names exist that are between a name and its zone.
func (r *Registry) noteAbove(name model.Name) {
	zone, ok := r.Zone(name)
	for ok && name != zone {
		name = parent(name)
		r.inner[name] = true
	}
}

// parent returns the name without its first label; the root's is empty.
func parent(n model.Name) model.Name {
	_, rest, _ := strings.Cut(string(n), ".")
	return model.Name(rest)
}

// Zones returns the zones in alphabetical order.
func (r *Registry) Zones() []model.Name {
	zones := make([]model.Name, 0, len(r.zones))
	for z := range r.zones {
		zones = append(zones, z)
	}
	slices.Sort(zones)
	return zones
}

// ByAddress returns the host with the private address.
func (r *Registry) ByAddress(a netip.Addr) (*Host, bool) {
	if h, ok := r.addresses[a]; ok {
		return h, true
	}
	return r.registered.at(a)
}

// Hosts returns the hosts in the order that New got them: those that come and go are none of them, here and in what follows.
func (r *Registry) Hosts() []*Host { return slices.Clone(r.hosts) }

// Services returns all services, host by host.
func (r *Registry) Services() (all []*Service) {
	for _, h := range r.hosts {
		all = append(all, h.Services...)
	}
	return all
}

// Lendable are those services that the pool is to have a place for: all but those of web names.
func (r *Registry) Lendable() []*Service {
	return slices.DeleteFunc(r.Services(), func(s *Service) bool { return s.Web })
}

// WebServices are those of the host's that are of web names.
func (h *Host) WebServices() []*Service {
	return slices.DeleteFunc(slices.Clone(h.Services), func(s *Service) bool { return !s.Web })
}

// WebServices are those of web names.
func (r *Registry) WebServices() []*Service {
	return slices.DeleteFunc(r.Services(), func(s *Service) bool { return !s.Web })
}
