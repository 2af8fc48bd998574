package config

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// finishAddresses expands the spans and checks that no address has two uses that are not joint.
func (d *draft) finishAddresses() {
	d.config.DNS.Public, d.config.DNS.Interface = d.server.at, d.server.device
	if d.server.device == "" {
		d.uses.Take(d.faults, d.config.DNS.Public.Addr(), schema.Use{Key: "dns.public", Line: d.publicLine, Joint: true})
	}
	d.uses.Take(d.faults, d.config.DNS.Private.Addr(), schema.Use{Key: "dns.private", Line: d.privateLine})
	named, interfaces := d.split(d.pool, "pool.addresses")
	d.config.Pool.Addresses = d.expand(named, "pool.addresses", maxPool)
	d.finishOutbound()
	d.finishFollowed(interfaces)
	d.checkLentNameServer()
	for i, h := range d.hosts {
		d.uses.Take(d.faults, h.host.Address, schema.Use{Key: fmt.Sprintf("hosts[%d].address", i), Line: h.addressLine})
		d.uses.Take(d.faults, h.host.OneToOne, schema.Use{Key: fmt.Sprintf("hosts[%d].one_to_one", i), Line: h.oneToOneLine})
	}
}

// expand lists the addresses of the spans, at most most.
func (d *draft) expand(list []schema.At[span], key string, most int) (addresses []netip.Addr) {
	for _, entry := range list {
		if total := len(addresses) + entry.Value.count(); total > most {
			d.faults.Add(entry.Line, "%s: up to this entry there are %d addresses, at most %d are allowed", key, total, most)
			return nil
		}
		for addr := range entry.Value.all {
			if !d.uses.Take(d.faults, addr, schema.Use{Key: key, Line: entry.Line, Joint: true}) {
				break // one error per entry says enough
			}
			addresses = append(addresses, addr)
		}
	}
	return addresses
}

// checkLentNameServer refuses to lend the name server's address whole: outbound, services get ports of it.
func (d *draft) checkLentNameServer() {
	a := d.config.DNS.Public.Addr()
	if lent, is := d.uses.As(a, "pool.addresses"); is && !d.config.Outbound.Follows() {
		if _, is := d.uses.As(a, "outbound.addresses"); !is {
			d.faults.Add(lent.Line, "pool.addresses: %s is dns.public: list it under outbound.addresses, too, so that services get ports of it", a)
		}
	}
}

// finishUpstream refuses servers that would bring our own queries back to us.
func (d *draft) finishUpstream() {
	seen := make(map[netip.AddrPort]int)
	for _, server := range d.upstream {
		if line, twice := seen[server.Value]; twice {
			d.faults.Add(server.Line, "dns.upstream: %s is already listed at line %d", server.Value, line)
			continue
		}
		seen[server.Value] = server.Line
		own := server.Value == d.config.DNS.Public || server.Value == d.config.DNS.Private
		before, lent := d.uses.As(server.Value.Addr(), "pool.addresses")
		if uses := d.uses[server.Value.Addr()]; own && len(uses) > 0 {
			before, lent = uses[0], true
		}
		if lent {
			d.faults.Add(server.Line, "dns.upstream: %s is %s: name a server that is not this gateway", server.Value, before)
			continue
		}
		d.config.DNS.Upstream = append(d.config.DNS.Upstream, server.Value)
	}
}

// finishNames checks that zones differ and that every other name has one use.
func (d *draft) finishNames() {
	zones := make(map[model.Name]int)
	for _, z := range d.zones {
		if line, twice := zones[z.zone.Name]; twice {
			d.faults.Add(z.nameLine, "realm.zones: %s is already listed at line %d", z.zone.Name, line)
			continue
		}
		zones[z.zone.Name] = z.nameLine
	}
	taken := make(map[model.Name]schema.Use)
	if d.nameserverLine > 0 {
		taken[d.config.Realm.Nameserver] = schema.Use{Key: "realm.nameserver", Line: d.nameserverLine}
	}
	take := func(name model.Name, as schema.Use) {
		if as.Line == 0 {
			return
		}
		if before, twice := taken[name]; twice {
			d.faults.Add(as.Line, "%s: %s is already used by %s: a name stands for one thing", as.Key, name, before)
			return
		}
		taken[name] = as
		if len(zones) > 0 && !inZone(name, zones) {
			d.faults.Add(as.Line, "%s: %s is in none of realm.zones (%s)", as.Key, name, listNames(d.config.Realm.ZoneNames()))
		}
	}
	for i, h := range d.hosts {
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
func inZone(name model.Name, zones map[model.Name]int) bool {
	for rest := string(name); rest != ""; _, rest, _ = strings.Cut(rest, ".") {
		if _, found := zones[model.Name(rest)]; found {
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
