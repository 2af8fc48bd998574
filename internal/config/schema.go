package config

import (
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Bounds of tables that the configuration sizes.
const (
	maxPool  = 65536
	maxQuota = 1_000_000
)

// Bounds of the timers that several keys share.
const (
	millisecond = time.Millisecond
	second      = time.Second
	minute      = time.Minute
	longestIdle = 30 * 24 * time.Hour
)

// keys is the schema: every key of the file, with its type, default and range,
// bound to the place in the draft where its value goes.
func (d *draft) keys() []schema.Key {
	c := &d.config
	return slices.Concat([]schema.Key{
		schema.Section("interfaces",
			schema.Many("public", &d.public, schema.Device(), 1).Must(),
			schema.Many("private", &d.private, schema.Device(), 1).Must(),
			schema.Many("xdp", &d.xdp, schema.Device(), 0).Otherwise("by what each interface is"),
			schema.Many("tcx", &d.tcx, schema.Device(), 0).Otherwise("by what each interface is"),
			schema.One("reverse_path", &c.Interfaces.ReversePath, schema.Choice(ReversePathStrict, ReversePathLoose)),
			schema.Section("egress", schema.Many("stack", &d.stack, schema.Device(), 0)),
		).Must(),
		schema.Section("realm",
			zonesKey(&d.zones).Must(),
			schema.OneAt("nameserver", &c.Realm.Nameserver, &d.nameserverLine, schema.Domain()).Must(),
		).Must(),
		schema.Section("dns",
			schema.OneAt("public", &d.server, &d.publicLine, servers()).Must(),
			schema.OneAt("private", &c.DNS.Private, &d.privateLine, schema.AddressPort(false)).Must(),
			schema.Many("upstream", &d.upstream, schema.AddressPort(true), 0),
			schema.One("verify", &c.DNS.Verify, schema.Choice(VerifyTCP, VerifyNone)),
			schema.One("cache", &c.DNS.Cache, schema.Number(0, 1_000_000)),
			schema.One("wait_limit", &c.DNS.WaitLimit, schema.Number(1, 4096)),
			schema.One("rebind_protection", &c.DNS.RebindProtection, schema.Boolean()),
			schema.Many("rebind_domain_ok", &d.rebindOK, schema.Domain(), 0),
			schema.Many("client_subnet", &d.clientSubnet, schema.Network(), 0),
			schema.ListOf("keys", &d.keyDrafts, (*keyDraft).keys),
		).Must(),
		schema.Section("pool",
			schema.Many("addresses", &d.pool, externals(maxPool), 1).Must(),
			schema.One("order", &c.Pool.Order, schema.Choice(OrderRandom, OrderCircular)),
			schema.One("offer", &c.Pool.Offer, schema.Duration(500*millisecond, minute)),
			schema.One("rest", &c.Pool.Rest, schema.Duration(second, 24*time.Hour)),
			schema.One("refuse", &c.Pool.Refuse, schema.Boolean()),
			schema.One("wait", &c.Pool.Wait, schema.Duration(0, 5*second)),
			schema.ListOf("bands", &d.bands, (*bandDraft).keys).Otherwise("0.5: 0.2 and 0.3; 0.75: 0.3 and 0.4"),
			schema.One("reserve", &c.Pool.Reserve, schema.Ratio(0, 0.5)),
			quotaKeys(&c.Pool.Quotas),
			schema.Gone("again", "clients that were let in stay known, and pool.rest says how long an address stays its service's"),
			schema.Gone("quarantine", "pool.rest says how long an address stays its service's after its last use"),
			schema.Gone("claim", "it goes without one, a handshake has 3s; pool.rest says how long an address stays its service's"),
		).Must(),
		schema.Section("outbound",
			schema.Many("addresses", &d.outbound, externals(model.MaxOutbound), 0).Otherwise("the first public interface's address"),
			schema.One("slots", &c.Outbound.Slots, schema.Number(1, model.MaxOutbound)).Otherwise("2 more than addresses at the start, at least 3"),
			schema.One("filtering", &c.Outbound.Filtering,
				schema.Choice(model.EndpointIndependent, model.AddressDependent, model.AddressAndPortDependent)),
			schema.One("quarantine", &c.Outbound.Quarantine, schema.Duration(0, time.Hour)),
			schema.Many("except", &d.excepts, schema.Network(), 0),
		),
		schema.Section("timeouts",
			schema.One("tcp_established", &c.Timeouts.TCPEstablished, schema.Duration(second, longestIdle)),
			schema.One("tcp_transitory", &c.Timeouts.TCPTransitory, schema.Duration(second, longestIdle)),
			schema.One("udp", &c.Timeouts.UDP, schema.Duration(second, longestIdle)),
			schema.One("udp_unanswered", &c.Timeouts.UDPUnanswered, schema.Duration(second, longestIdle)),
			schema.One("dns", &c.Timeouts.DNS, schema.Duration(second, longestIdle)),
			schema.One("icmp", &c.Timeouts.ICMP, schema.Duration(second, longestIdle)),
			schema.One("others", &c.Timeouts.Others, schema.Duration(second, longestIdle)),
		),
		limitKeys(&c.Limits),
		schema.One("capacity", &c.Capacity, schema.Number(model.MinCapacity, model.MaxCapacity)),
		schema.One("ipv6", &c.IPv6, schema.Choice(IPv6Drop, IPv6Forward)),
		schema.One("mss", &c.MSS, mss()),
	}, d.bans.Keys(), []schema.Key{
		schema.ListOf("hosts", &d.hosts, (*hostDraft).keys),
	}, schema.Keys([]schema.Draft{d.sets, d.watches, d.lists, d.sinks, d.protection, d.chains}))
}

func quotaKeys(q *Quotas) schema.Key {
	quota := schema.Number(0, maxQuota)
	return schema.Section("quotas",
		schema.One("client", &q.Client, quota),
		schema.One("resolver", &q.Resolver, quota),
		schema.One("host", &q.Host, quota),
		schema.One("service", &q.Service, quota),
		schema.One("total", &q.Total, quota),
		schema.One("half_open", &q.HalfOpen, quota),
		schema.One("half_open_per_host", &q.HalfOpenPerHost, quota),
		schema.One("client_sessions", &q.ClientSessions, schema.Number(1, 65535)),
	)
}
