package config

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
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
func (d *draft) keys() []key {
	c := &d.config
	return []key{
		section("interfaces",
			many("public", &d.public, device(), 1).must(),
			many("private", &d.private, device(), 1).must(),
			many("xdp", &d.xdp, device(), 0).otherwise("by what each interface is"),
			many("tcx", &d.tcx, device(), 0).otherwise("by what each interface is"),
			one("reverse_path", &c.Interfaces.ReversePath, choice(ReversePathStrict, ReversePathLoose)),
			section("egress", many("stack", &d.stack, device(), 0)),
		).must(),
		section("realm",
			zonesKey(&d.zones).must(),
			oneAt("nameserver", &c.Realm.Nameserver, &d.nameserverLine, domain()).must(),
		).must(),
		section("dns",
			oneAt("public", &d.server, &d.publicLine, servers()).must(),
			oneAt("private", &c.DNS.Private, &d.privateLine, addressPort(false)).must(),
			many("upstream", &d.upstream, addressPort(true), 0),
			one("verify", &c.DNS.Verify, choice(VerifyTCP, VerifyNone)),
			one("cache", &c.DNS.Cache, number(0, 1_000_000)),
			one("wait_limit", &c.DNS.WaitLimit, number(1, 4096)),
			one("rebind_protection", &c.DNS.RebindProtection, boolean()),
			many("rebind_domain_ok", &d.rebindOK, domain(), 0),
			many("client_subnet", &d.clientSubnet, network(), 0),
			listOf("keys", &d.keyDrafts, (*keyDraft).keys),
		).must(),
		section("pool",
			many("addresses", &d.pool, externals(maxPool), 1).must(),
			one("order", &c.Pool.Order, choice(OrderRandom, OrderCircular)),
			one("offer", &c.Pool.Offer, duration(500*millisecond, minute)),
			one("rest", &c.Pool.Rest, duration(second, 24*time.Hour)),
			one("refuse", &c.Pool.Refuse, boolean()),
			one("wait", &c.Pool.Wait, duration(0, 5*second)),
			listOf("bands", &d.bands, (*bandDraft).keys).otherwise("0.5: 0.2 and 0.3; 0.75: 0.3 and 0.4"),
			one("reserve", &c.Pool.Reserve, ratio(0, 0.5)),
			quotaKeys(&c.Pool.Quotas),
			gone("again", "clients that were let in stay known, and pool.rest says how long an address stays its service's"),
			gone("quarantine", "pool.rest says how long an address stays its service's after its last use"),
			gone("claim", "it goes without one, a handshake has 3s; pool.rest says how long an address stays its service's"),
		).must(),
		section("outbound",
			many("addresses", &d.outbound, externals(model.MaxOutbound), 0).otherwise("the first public interface's address"),
			one("slots", &c.Outbound.Slots, number(1, model.MaxOutbound)).otherwise("2 more than addresses at the start, at least 3"),
			one("filtering", &c.Outbound.Filtering,
				choice(model.EndpointIndependent, model.AddressDependent, model.AddressAndPortDependent)),
			one("quarantine", &c.Outbound.Quarantine, duration(0, time.Hour)),
			many("except", &d.excepts, network(), 0),
		),
		section("timeouts",
			one("tcp_established", &c.Timeouts.TCPEstablished, duration(second, longestIdle)),
			one("tcp_transitory", &c.Timeouts.TCPTransitory, duration(second, longestIdle)),
			one("udp", &c.Timeouts.UDP, duration(second, longestIdle)),
			one("udp_unanswered", &c.Timeouts.UDPUnanswered, duration(second, longestIdle)),
			one("dns", &c.Timeouts.DNS, duration(second, longestIdle)),
			one("icmp", &c.Timeouts.ICMP, duration(second, longestIdle)),
			one("others", &c.Timeouts.Others, duration(second, longestIdle)),
		),
		limitKeys(&c.Limits),
		one("capacity", &c.Capacity, number(model.MinCapacity, model.MaxCapacity)),
		one("ipv6", &c.IPv6, choice(IPv6Drop, IPv6Forward)),
		one("mss", &c.MSS, mss()),
		many("never_ban", &d.neverBan, anyNetwork(), 0),
		section("bans", d.bansKeys()...),
		listOf("hosts", &d.hosts, (*hostDraft).keys),
		listOf("sets", &d.sets, (*setDraft).keys),
		listOf("watches", &d.watches, (*watchDraft).keys),
		listOf("lists", &d.lists, (*listDraft).keys),
		listOf("events", &d.sinks, (*sinkDraft).keys),
		section(ProtectionName, d.protection.keys()...),
		listOf("chains", &d.chains, (*chainDraft).keys),
	}
}

func quotaKeys(q *Quotas) key {
	quota := number(0, maxQuota)
	return section("quotas",
		one("client", &q.Client, quota),
		one("resolver", &q.Resolver, quota),
		one("host", &q.Host, quota),
		one("service", &q.Service, quota),
		one("total", &q.Total, quota),
		one("half_open", &q.HalfOpen, quota),
		one("half_open_per_host", &q.HalfOpenPerHost, quota),
		one("client_sessions", &q.ClientSessions, number(1, 65535)),
	)
}

// listOf is a key with a list of sections, each read into a T of its own.
func listOf[T any](name string, target *[]*T, keys func(*T) []key) key {
	documented := keys(new(T))
	return key{
		name: name, kind: "list of sections", standard: "none", keys: documented,
		read: func(faults *faultLog, node *yaml.Node, path string, _ int) {
			for i, item := range elements(faults, node, path, "a list, each entry a mapping", 0) {
				element := new(T)
				*target = append(*target, element)
				if e, notes := any(element).(interface{ begins(line int) }); notes && item.Kind == yaml.MappingNode {
					e.begins(item.Line)
				}
				readSection(faults, item, fmt.Sprintf("%s[%d]", path, i), item.Line, keys(element))
			}
		},
	}
}
