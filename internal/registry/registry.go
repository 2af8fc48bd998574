package registry

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Host is a private host.
type Host struct {
	Name     model.Name
	Address  netip.Addr
	Services []Service
}

// Service is a name that stands for a host's protocol and port.
type Service struct {
	Name     model.Name
	Protocol model.Protocol
	Port     uint16 // as the outside sees it
	To       uint16 // on the host
	// Again overrides the pool's time for more connections; nil keeps it.
	Again *time.Duration
}

// Entry is what a name stands for. Service is nil for a host name.
type Entry struct {
	Name    model.Name
	Host    *Host
	Service *Service
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
}

// New makes a snapshot. Names must be in a zone and unique among hosts and
// services together, and so must hosts' addresses.
func New(zones []model.Name, hosts []Host) (*Registry, error) {
	r := &Registry{
		zones: map[model.Name]bool{}, entries: map[model.Name]Entry{},
		addresses: map[netip.Addr]*Host{}, inner: map[model.Name]bool{},
	}
	for _, z := range zones {
		r.zones[z], r.inner[z] = true, true
	}
	for _, given := range hosts {
		h := given
		h.Services = slices.Clone(given.Services)
		if !h.Address.IsValid() {
			return nil, fmt.Errorf("host %s has no address", h.Name)
		}
		if other, taken := r.addresses[h.Address]; taken {
			return nil, fmt.Errorf("host %s has the address %s of host %s: give it its own", h.Name, h.Address, other.Name)
		}
		r.hosts = append(r.hosts, &h)
		r.addresses[h.Address] = &h
		if err := r.add(Entry{Name: h.Name, Host: &h}); err != nil {
			return nil, err
		}
		for i := range h.Services {
			s := &h.Services[i]
			if s.Again != nil {
				again := *s.Again
				s.Again = &again
			}
			if err := r.add(Entry{Name: s.Name, Host: &h, Service: s}); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

func (r *Registry) add(e Entry) error {
	zone, ok := r.Zone(e.Name)
	if !ok {
		return fmt.Errorf("name %s is in no zone: use one of %v", e.Name, r.Zones())
	}
	if other, taken := r.entries[e.Name]; taken {
		return fmt.Errorf("name %s of host %s is taken by host %s: names must be unique", e.Name, e.Host.Name, other.Host.Name)
	}
	r.entries[e.Name] = e
	for name := e.Name; name != zone; {
		name = parent(name)
		r.inner[name] = true
	}
	return nil
}

// parent returns the name without its first label; the root's is empty.
func parent(n model.Name) model.Name {
	_, rest, _ := strings.Cut(string(n), ".")
	return model.Name(rest)
}

// Lookup returns what the name stands for.
func (r *Registry) Lookup(n model.Name) (Entry, bool) {
	e, ok := r.entries[n]
	return e, ok
}

// Exists reports whether the name is to be answered with NODATA rather than
// NXDOMAIN where it has no record: it stands for something, is a zone, or has
// names below it (RFC 8020 §2).
func (r *Registry) Exists(n model.Name) bool {
	_, ok := r.entries[n]
	return ok || r.inner[n]
}

// Zone returns the most specific zone that the name is in, label by label.
func (r *Registry) Zone(n model.Name) (model.Name, bool) {
	for ; n != ""; n = parent(n) {
		if r.zones[n] {
			return n, true
		}
	}
	return "", false
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

// Above reports whether the registry has names below n.
func (r *Registry) Above(n model.Name) bool { return r.inner[n] }

// ByAddress returns the host with the private address.
func (r *Registry) ByAddress(a netip.Addr) (*Host, bool) {
	h, ok := r.addresses[a]
	return h, ok
}

// Hosts returns the hosts in the order that New got them.
func (r *Registry) Hosts() []*Host { return slices.Clone(r.hosts) }
