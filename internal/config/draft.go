package config

import (
	"net/netip"
	"slices"

	events "github.com/realmgate/realmgate/internal/events/settings"
	ban "github.com/realmgate/realmgate/internal/guard/ban/settings"
	geo "github.com/realmgate/realmgate/internal/guard/geo/settings"
	honeypot "github.com/realmgate/realmgate/internal/guard/honeypot/settings"
	lists "github.com/realmgate/realmgate/internal/guard/lists/settings"
	watch "github.com/realmgate/realmgate/internal/guard/watch/settings"
	"github.com/realmgate/realmgate/internal/model"
	rules "github.com/realmgate/realmgate/internal/ruleset/settings"
	"github.com/realmgate/realmgate/internal/schema"
)

// draft is a configuration on its way: single values go straight into config,
// lists and the lines that later checks point at stay beside it.
type draft struct {
	faults *schema.Faults
	config Config

	public, private, stack, xdp, tcx        []schema.At[string]
	zones                                   []*zoneDraft
	keyDrafts                               []*keyDraft
	upstream                                []schema.At[netip.AddrPort]
	clientSubnet, excepts                   []schema.At[netip.Prefix]
	rebindOK                                []schema.At[model.Name]
	pool, outbound                          []schema.At[external]
	server                                  server
	hosts                                   []*hostDraft
	bands                                   []*bandDraft
	nameserverLine, publicLine, privateLine int

	bans, sets, watches, lists, sinks, protection, chains schema.Draft

	uses schema.Uses
}

func newDraft(faults *schema.Faults, known []rules.Set) *draft {
	d := &draft{faults: faults, config: defaults(), uses: schema.Uses{}}
	c := &d.config
	chains := rules.NewChains(&c.Chains, d.uses, hosts{d}, nameServer{d}, outbound{d})
	listed := rules.NewLists(&c.Protection.Lists)
	pot := honeypot.New(&c.Protection.Honeypot, listed, hosts{d}, nameServer{d}, chains)
	watches := watch.New(&c.Watches)
	d.protection = schema.Under(model.ProtectionName, listed, pot, geo.New(&c.Protection.Fences))
	d.bans = ban.New(&c.NeverBan, &c.Bans, watches, pot)
	d.sets = rules.NewSets(&c.Sets, known, listed, chains)
	d.watches, d.lists, d.sinks, d.chains = watches, lists.New(&c.Lists, listed), events.New(&c.Events), chains
	return d
}

// What sections say of others.
type (
	hosts      struct{ *draft }
	nameServer struct{ *draft }
	outbound   struct{ *draft }
)

func (o outbound) Follows() bool { return o.config.Outbound.Follows() }

func (s nameServer) Port() uint16 { return s.config.DNS.Public.Port() }

func (s nameServer) EachPort(_ model.Protocol, each func(used model.Ports, whose string, args ...any)) {
	port := s.Port()
	each(model.Ports{First: port, Last: port}, "the name server is at port %d", port)
}

func (h hosts) Has(a netip.Addr) bool {
	return slices.ContainsFunc(h.hosts, func(h *hostDraft) bool { return h.host.Address == a })
}

func (h hosts) Named(name model.Name) (service, pings, known bool) {
	for _, h := range h.hosts {
		if h.host.Name == name {
			known = true
		}
		for _, s := range h.services {
			if slices.ContainsFunc(s.names(), func(n schema.At[model.Name]) bool { return n.Value == name }) {
				ports := schema.Values(s.opened())
				return true, len(ports) > 0 && !slices.ContainsFunc(ports, func(p model.Port) bool { return p.Protocol != model.ICMP }), true
			}
		}
	}
	return false, false, known
}

func (h hosts) EachPort(protocol model.Protocol, each func(used model.Ports, whose string, args ...any)) {
	for _, h := range h.hosts {
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

// finish checks how the values relate to each other and completes the config.
func (d *draft) finish() {
	d.finishInterfaces()
	d.finishAddresses()
	d.finishExcepts()
	d.finishUpstream()
	d.finishBands()
	d.finishZones()
	d.finishNames()
	for _, section := range []schema.Draft{d.protection, d.sets, d.watches, d.bans, d.lists, d.sinks, d.chains} {
		section.Finish(d.faults)
	}
	d.config.Limits = d.config.Limits.of(d.config.Capacity)
	d.config.DNS.ClientSubnet = schema.Values(d.clientSubnet)
	d.config.DNS.RebindDomainOK = schema.Values(d.rebindOK)
	for i, h := range d.hosts {
		d.config.Hosts = append(d.config.Hosts, h.finish(d.faults, i))
	}
}

func (d *draft) finishInterfaces() {
	seen := make(map[string]int)
	take := func(list []schema.At[string], side string) (names []string) {
		for _, device := range list {
			if device.Value == "lo" {
				d.faults.Add(device.Line, "interfaces.%s: lo is the loopback interface, by which only this machine's own packets come: name one that a network is at", side)
				continue
			}
			if line, twice := seen[device.Value]; twice {
				d.faults.Add(device.Line, "interfaces.%s: %s is already listed at line %d: an interface has one side", side, device.Value, line)
				continue
			}
			seen[device.Value] = device.Line
			names = append(names, device.Value)
		}
		return names
	}
	d.config.Interfaces.Public = take(d.public, "public")
	d.config.Interfaces.Private = take(d.private, "private")
	for _, device := range d.stack {
		if seen[device.Value] == 0 {
			d.faults.Add(device.Line, "interfaces.egress.stack: %s is in neither interfaces.public nor interfaces.private: add it to one", device.Value)
			continue
		}
		d.config.Interfaces.Stack = append(d.config.Interfaces.Stack, device.Value)
	}
	modes := make(map[string]int)
	attach := func(list []schema.At[string], mode string) (names []string) {
		for _, device := range list {
			switch line, twice := modes[device.Value]; {
			case twice:
				d.faults.Add(device.Line, "interfaces.%s: %s is already listed at line %d: an interface has one mode", mode, device.Value, line)
			case seen[device.Value] == 0:
				d.faults.Add(device.Line, "interfaces.%s: %s is in neither interfaces.public nor interfaces.private: add it to one", mode, device.Value)
			default:
				names = append(names, device.Value)
			}
			modes[device.Value] = device.Line
		}
		return names
	}
	d.config.Interfaces.XDP = attach(d.xdp, "xdp")
	d.config.Interfaces.TCX = attach(d.tcx, "tcx")
}
