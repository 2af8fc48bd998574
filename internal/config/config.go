package config

import (
	"net/netip"
	"slices"

	access "github.com/realmgate/realmgate/internal/access/settings"
	edge "github.com/realmgate/realmgate/internal/edge/settings"
	events "github.com/realmgate/realmgate/internal/events/settings"
	ban "github.com/realmgate/realmgate/internal/guard/ban/settings"
	geo "github.com/realmgate/realmgate/internal/guard/geo/settings"
	honeypot "github.com/realmgate/realmgate/internal/guard/honeypot/settings"
	jail "github.com/realmgate/realmgate/internal/guard/jail/settings"
	lists "github.com/realmgate/realmgate/internal/guard/lists/settings"
	"github.com/realmgate/realmgate/internal/model"
	allocation "github.com/realmgate/realmgate/internal/names/allocation/settings"
	dynamic "github.com/realmgate/realmgate/internal/names/dynamic/settings"
	realm "github.com/realmgate/realmgate/internal/names/realm/settings"
	server "github.com/realmgate/realmgate/internal/names/server/settings"
	natlog "github.com/realmgate/realmgate/internal/natlog/settings"
	outbound "github.com/realmgate/realmgate/internal/outbound/settings"
	plane "github.com/realmgate/realmgate/internal/plane/settings"
	rules "github.com/realmgate/realmgate/internal/ruleset/settings"
	"github.com/realmgate/realmgate/internal/schema"
	web "github.com/realmgate/realmgate/internal/web/settings"
)

// Config is one complete, validated configuration: what the rooms have in it.
type Config struct {
	Interfaces plane.Interfaces
	Realm      realm.Realm
	DNS        server.DNS
	Pool       allocation.Pool
	Outbound   outbound.Outbound
	Web        web.Web
	plane.Tables
	Hosts      realm.Hosts
	Dynamic    []dynamic.Entry
	Edges      edge.Edges
	IgnoreIP   []netip.Prefix // IPv4 and IPv6
	Bans       ban.Bans
	Sets       []rules.Set
	Jails      []jail.Jail
	Lists      []lists.List
	Events     []events.Sink // where events go
	Log        natlog.Log
	API        access.API
	Protection Protection
	Chains     []rules.Chain // in the order of the file; the first that matches a flow judges it
}

// Protection is asked about every flow before the chain that is for it, in the order of
// its fields.
type Protection struct {
	rules.Addresses
	Honeypot honeypot.Honeypot
	geo.Fences
}

// Given reports whether there is anything to ask.
func (p Protection) Given() bool {
	return len(p.Allowlist)+len(p.Blocklist)+len(p.Geofences) > 0 || !p.Honeypot.Ports.Empty()
}

// WebPorts are the ports of TCP and of UDP at which web names are, in order, each once.
func (c *Config) WebPorts() (tcp, udp []uint16) {
	ports := c.Hosts.WebPorts()
	for _, e := range c.Dynamic {
		ports = append(ports, e.WebPorts()...)
	}
	for _, p := range ports {
		if p.Protocol == model.TCP {
			tcp = append(tcp, p.Port)
		} else {
			udp = append(udp, p.Port)
		}
	}
	slices.Sort(tcp)
	slices.Sort(udp)
	return slices.Compact(tcp), slices.Compact(udp)
}

// drafts are the sections in the order in which the reference has them, each with those of which it asks something. They
// put their defaults into the configuration at once, and the rest as they are read.
func (c *Config) drafts(known []rules.Set) []schema.Draft {
	uses := schema.Uses{}
	interfaces := plane.NewInterfaces(&c.Interfaces)
	outside := outbound.New(&c.Outbound, uses, interfaces)
	dns := server.New(&c.DNS, uses, outside)
	zones := realm.New(&c.Realm, dns)
	shared := web.New(&c.Web, uses, interfaces, outside)
	hosts := realm.NewHosts(&c.Hosts, uses, zones, shared)
	chains := rules.NewChains(&c.Chains, uses, hosts, dns, outside, interfaces)
	listed := rules.NewAddresses(&c.Protection.Addresses)
	pot := honeypot.New(&c.Protection.Honeypot, listed, hosts, dns, chains)
	jails := jail.New(&c.Jails)
	return []schema.Draft{
		new(version),
		interfaces,
		zones,
		dns,
		allocation.New(&c.Pool, uses, interfaces, outside),
		outside,
		shared,
		plane.NewTables(&c.Tables),
		ban.New(&c.IgnoreIP, &c.Bans, jails, pot),
		hosts,
		dynamic.New(&c.Dynamic, zones, dns, shared),
		edge.New(&c.Edges, uses, interfaces, &c.Realm),
		rules.NewSets(&c.Sets, known, listed, chains),
		jails,
		lists.New(&c.Lists, listed),
		events.New(&c.Events),
		natlog.New(&c.Log),
		access.New(&c.API, uses),
		schema.Under(model.ProtectionName, listed, pot, geo.New(&c.Protection.Fences)),
		chains,
	}
}
