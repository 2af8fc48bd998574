package realm

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/registry"
)

// Placement says at which of the web addresses the web names of a host are answered, the zero value where it does not know, and
// whether it is sure of that. It is asked with each question, by many at a time, and may change its mind: the old address is
// good for those who have it.
type Placement func(host model.Name) (at netip.Addr, sure bool)

// Placed is the same realm with another placement. Without one all hosts are at the first web address.
func (d *Realm) Placed(p Placement) *Realm {
	placed := *d
	placed.placement = p
	return &placed
}

// unsureTTL is for how long names are answered whose place is not sure: browsers would bring the requests of one host to another
// by what they remember (RFC 9113 section 9.1.1).
const unsureTTL = 10 * time.Second

// WebAddress is where the web names of a host are answered, the zero value where there is no web address.
func (d *Realm) WebAddress(host model.Name) netip.Addr {
	at, _ := d.webPlace(host)
	return at
}

// webPlace is the same, and for how long the answer is good.
func (d *Realm) webPlace(host model.Name) (at netip.Addr, ttl time.Duration) {
	if len(d.webAddresses) == 0 {
		return netip.Addr{}, 0
	}
	if d.placement == nil {
		return d.webAddresses[0], d.webTTL
	}
	at, sure := d.placement(host)
	if !slices.Contains(d.webAddresses, at) { // it may be one of another configuration
		at, sure = d.webAddresses[0], false
	}
	if !sure {
		return at, min(unsureTTL, d.webTTL)
	}
	return at, d.webTTL
}

// WebTarget is where a connection to a web name goes.
type WebTarget struct {
	Name    model.Name     // as the configuration has it: a wildcard for the names that it answers for
	Host    model.Name     // its own name
	Service model.Name     // the first of the service's names, which identifies it
	To      netip.AddrPort // private
	// Redirect says that requests of HTTP are led to https.
	Redirect bool
}

// mostAliases is how many CNAMEs of zone files a name is followed along: as many as the name server follows.
const mostAliases = 8

// WebTarget finds where a connection goes that names name, in any letters and with or without the final dot, and came to a
// port of a web address. It is every name that is answered with a web address: those of web services, names that their
// wildcards answer for, and CNAMEs of zone files that lead to them. A name from a connection may be anything.
func (d *Realm) WebTarget(name string, protocol model.Protocol, port uint16) (WebTarget, bool) {
	entry, known := d.webEntry(name)
	if !known {
		return WebTarget{}, false
	}
	return targetOf(entry, protocol, port)
}

// WebName is what WebTarget finds, as the registry has it.
func (d *Realm) WebName(name string, protocol model.Protocol, port uint16) (registry.Entry, bool) {
	entry, known := d.webEntry(name)
	if known {
		_, known = targetOf(entry, protocol, port)
	}
	return entry, known
}

// webEntry is that of a name, or of the first one that its aliases lead to.
func (d *Realm) webEntry(name string) (registry.Entry, bool) {
	n, err := model.ParseName(name)
	if err != nil {
		return registry.Entry{}, false
	}
	for range mostAliases + 1 {
		if entry, known := d.Registry.Lookup(n); known {
			return entry, true
		}
		if n = d.alias(n); n == "" {
			break
		}
	}
	return registry.Entry{}, false
}

// Leads reports whether a name, by its number, still leads from a port of a web address to a private endpoint.
func (d *Realm) Leads(number uint32, protocol model.Protocol, port uint16, to netip.AddrPort) bool {
	entry, known := d.Registry.Lookup(d.Name(number))
	if !known {
		return false
	}
	target, is := targetOf(entry, protocol, port)
	return is && target.To == to
}

func targetOf(entry registry.Entry, protocol model.Protocol, port uint16) (WebTarget, bool) {
	s := entry.Service
	if s == nil || !s.Web {
		return WebTarget{}, false
	}
	i := slices.IndexFunc(s.Ports, func(p model.Port) bool { return p.Protocol == protocol && p.Port == port })
	if i < 0 {
		return WebTarget{}, false
	}
	return WebTarget{
		Name: entry.Name, Host: s.Owner, Service: s.Name, To: netip.AddrPortFrom(s.Host, s.Ports[i].To),
		Redirect: s.Redirects(protocol, port),
	}, true
}

// mostDoubts bounds the lines about names that might be web names.
const mostDoubts = 8

// alias is what a zone's file has a name stand for, by itself or by a wildcard (RFC 4592 §3.3.1), "" for nothing.
func (d *Realm) alias(name model.Name) model.Name {
	in, ok := d.Registry.Zone(name)
	if !ok {
		return ""
	}
	i := slices.IndexFunc(d.Zones, func(z nameserver.Zone) bool { return z.Name == in })
	at := name
	if !d.Registry.Exists(at) {
		for !d.Registry.Exists(at) {
			_, rest, _ := strings.Cut(string(at), ".")
			at = model.Name(rest)
		}
		at = at.Wildcard()
	}
	if _, _, delegated := d.Zones[i].Data.Cut(string(name)); delegated {
		return ""
	}
	for _, rr := range d.Zones[i].Data.Node(string(at)).Set(dns.TypeCNAME) {
		if target, err := model.ParseName(rr.(*dns.CNAME).Target); err == nil {
			return target
		}
	}
	return ""
}

// WebDoubts says which names are none of the web though they have its ports, since they open others, too.
func WebDoubts(c *config.Config) (list []string) {
	if len(c.Web.Addresses) == 0 {
		return nil
	}
	doubt := func(isWeb bool, name string, ports []model.Port) {
		i := slices.IndexFunc(ports, func(p model.Port) bool { return p.Protocol == model.TCP && (p.Port == 80 || p.Port == 443) })
		if i >= 0 && !isWeb {
			list = append(list, fmt.Sprintf("%s opens %s, and has a pool address for all of it: to have %s at a web address give the ports of the web a name of their own "+
				"(udp/443 is one with web.quic), else say web: false", name, strings.Join(model.PortTexts(ports), ", "), ports[i]))
		}
	}
	for _, h := range c.Hosts {
		doubt(h.Web, h.Name.String(), h.Open)
		for _, s := range h.Services {
			doubt(s.Web || s.NoWeb, s.Names[0].String(), s.Ports)
		}
	}
	for _, e := range c.Dynamic {
		for _, s := range e.Services {
			doubt(s.Web || s.NoWeb || !e.HasWeb(), strings.TrimPrefix(s.Label+".*."+e.Zone.String(), "."), s.Ports)
		}
	}
	if n := len(list); n > mostDoubts {
		list = append(list[:mostDoubts], fmt.Sprintf("%d more names have ports of the web and others: see realmgate names", n-mostDoubts))
	}
	return list
}

// WebServices lists the services of web names that a filter lets through.
func (d *Realm) WebServices(filter api.Filter) (list []api.Name) {
	services := d.Registry.WebServices()
	if d.registered != nil {
		for _, h := range d.registered.WebHosts() {
			services = append(services, h.WebServices()...)
		}
	}
	for _, s := range services {
		row := api.Name{Service: s.Name.String(), Host: s.Owner.String(), Address: d.WebAddress(s.Owner), Ports: s.Ports}
		if filter.MatchName(row) {
			list = append(list, row)
		}
	}
	return list
}
