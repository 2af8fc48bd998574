package settings

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Hosts are in the order of the file.
type Hosts []Host

// OneToOne tells the public address of each host that has one alone, by its private one.
func (hosts Hosts) OneToOne() map[netip.Addr]netip.Addr {
	own := map[netip.Addr]netip.Addr{}
	for _, h := range hosts {
		if h.OneToOne.IsValid() {
			own[h.Address] = h.OneToOne
		}
	}
	return own
}

// OneToOneAddresses lists these public addresses.
func (hosts Hosts) OneToOneAddresses() (list []netip.Addr) {
	for _, h := range hosts {
		if h.OneToOne.IsValid() {
			list = append(list, h.OneToOne)
		}
	}
	return list
}

// HostsDraft is `hosts`.
type HostsDraft struct {
	hosts   *Hosts
	uses    schema.Uses
	realm   *Draft
	web     Web
	entries []*hostEntry
	named   map[model.Name]meaning
}

// meaning is what a name of a host stands for.
type meaning struct {
	service bool
	pings   bool // a service that opens nothing else
}

// NewHosts makes a draft whose values go to hosts, and which says in uses what addresses are for.
func NewHosts(hosts *Hosts, uses schema.Uses, realm *Draft, web Web) *HostsDraft {
	return &HostsDraft{hosts: hosts, uses: uses, realm: realm, web: web, named: map[model.Name]meaning{}}
}

// Keys implements schema.Draft.
func (d *HostsDraft) Keys() []schema.Key {
	return []schema.Key{schema.ListOf("hosts", &d.entries, (*hostEntry).keys)}
}

// Claim implements schema.Claimer.
func (d *HostsDraft) Claim(faults *schema.Faults) {
	for i, h := range d.entries {
		d.uses.Take(faults, h.host.Address, schema.Use{Key: fmt.Sprintf("hosts[%d].address", i), Line: h.addressLine})
		d.uses.Take(faults, h.host.OneToOne, schema.Use{Key: fmt.Sprintf("hosts[%d].one_to_one", i), Line: h.oneToOneLine})
		d.named[h.host.Name] = meaning{}
		for _, s := range h.services {
			ports := schema.Values(s.opened())
			pings := len(ports) > 0 && !slices.ContainsFunc(ports, func(p model.Port) bool { return p.Protocol != model.ICMP })
			for _, name := range s.names() {
				d.named[name.Value] = meaning{service: true, pings: pings}
			}
		}
	}
}

// Named says what a name stands for: a host or a service, and of a service whether it opens nothing but pings.
func (d *HostsDraft) Named(name model.Name) (service, pings, known bool) {
	m, known := d.named[name]
	return m.service, m.pings, known
}

// Has reports whether an address is a host's.
func (d *HostsDraft) Has(a netip.Addr) bool {
	return slices.ContainsFunc(d.entries, func(h *hostEntry) bool { return h.host.Address == a })
}

// EachPort calls each for those that names and services open.
func (d *HostsDraft) EachPort(protocol model.Protocol, each func(used model.Ports, whose string, args ...any)) {
	for _, h := range d.entries {
		opened := func(whose string, ports []schema.At[model.Port]) {
			for _, p := range ports {
				if p.Value.Protocol == protocol {
					each(model.Ports{First: p.Value.Port, Last: p.Value.Port}, "%s %s is at port %d, line %d", whose, h.host.Name, p.Value.Port, p.Line)
				}
			}
		}
		opened("the name", h.open.ports)
		for _, s := range h.services {
			opened("a service of", s.opened())
		}
	}
}

// Finish implements schema.Draft.
func (d *HostsDraft) Finish(faults *schema.Faults) {
	d.checkNames(faults)
	for i, h := range d.entries {
		*d.hosts = append(*d.hosts, h.finish(faults, i, d.web))
	}
}

// checkNames sees to it that every name but those of zones has one use.
func (d *HostsDraft) checkNames(faults *schema.Faults) {
	taken := make(map[model.Name]schema.Use)
	if r := d.realm; r.nameserverLine > 0 {
		taken[r.realm.Nameserver] = schema.Use{Key: "realm.nameserver", Line: r.nameserverLine}
	}
	zones, names := make(map[model.Name]bool, len(d.realm.zones)), make([]model.Name, len(d.realm.zones))
	for i, z := range d.realm.zones {
		zones[z.zone.Name], names[i] = true, z.zone.Name
	}
	take := func(name model.Name, as schema.Use) {
		if as.Line == 0 {
			return
		}
		if before, twice := taken[name]; twice {
			faults.Add(as.Line, "%s: %s is already used by %s: a name stands for one thing", as.Key, name, before)
			return
		}
		taken[name] = as
		if len(zones) > 0 && !inZone(name, zones) {
			faults.Add(as.Line, "%s: %s is in none of realm.zones (%s)", as.Key, name, listNames(names))
		}
	}
	for i, h := range d.entries {
		path := fmt.Sprintf("hosts[%d]", i)
		take(h.host.Name, schema.Use{Key: path + ".name", Line: h.nameLine})
		for j, s := range h.services {
			key := "name"
			if s.namesLine > 0 {
				key = "names"
			}
			for _, name := range s.names() {
				take(name.Value, schema.Use{Key: fmt.Sprintf("%s.services[%d].%s", path, j, key), Line: name.Line})
			}
		}
	}
}

// inZone looks the name and all above it up, label by label, so that the cost
// does not grow with the number of zones.
func inZone(name model.Name, zones map[model.Name]bool) bool {
	for rest := string(name); rest != ""; _, rest, _ = strings.Cut(rest, ".") {
		if zones[model.Name(rest)] {
			return true
		}
	}
	return false
}

// listNames shows the first few names.
func listNames(names []model.Name) string {
	const most = 3
	text := ""
	for i, name := range names[:min(most, len(names))] {
		if i > 0 {
			text += ", "
		}
		text += string(name)
	}
	if len(names) > most {
		text += ", …"
	}
	return text
}
