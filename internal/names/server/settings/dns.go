package settings

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// DNS says where the name servers listen and whom they ask.
type DNS struct {
	Public, Private netip.AddrPort   // IPv4, of different addresses
	Interface       string           // instead of an address of Public, which then is unspecified: the interface that has it
	Upstream        []netip.AddrPort // IPv4; empty: other names are refused
	Verify          Verify
	Cache           int // answers kept by the inside resolver, 0 to 1000000
	WaitLimit       int // questions of one host that may wait for upstream, 1 to 4096
	// RebindProtection: addresses inside are taken out of answers of upstream, but for RebindDomainOK.
	RebindProtection bool
	RebindDomainOK   []model.Name
	ClientSubnet     []netip.Prefix // IPv4: resolvers whose EDNS client subnet is believed
	Keys             []Key          // no name twice
}

// Verifies reports whether one proves its address at all.
func (d DNS) Verifies() bool { return d.Verify != VerifyNone }

// Verify says how an outside asker proves its address before it gets one.
type Verify uint8

// The ways to verify an asker.
const (
	VerifyTCP  Verify = iota // a UDP query is told to come back over TCP
	VerifyNone               // any query allocates
)

// String returns the word used in the file.
func (v Verify) String() string { return schema.Word(int(v), "verify", "tcp", "none") }

// Outbound says of which interfaces the addresses are outbound; they may be those of interfaces alone.
type Outbound interface {
	Follows() bool
	Followed(name string) bool
}

// Draft is `dns`.
type Draft struct {
	dns                     *DNS
	uses                    schema.Uses
	outbound                Outbound
	server                  server
	publicLine, privateLine int
	upstream                []schema.At[netip.AddrPort]
	clientSubnet            []schema.At[netip.Prefix]
	rebindOK                []schema.At[model.Name]
	keys                    []*keyEntry
}

// New makes a draft whose values go to dns, and which says in uses what addresses are for.
func New(dns *DNS, uses schema.Uses, outbound Outbound) *Draft {
	*dns = DNS{Verify: VerifyTCP, Cache: 10_000, WaitLimit: 128, RebindProtection: true}
	return &Draft{dns: dns, uses: uses, outbound: outbound}
}

// Keys implements schema.Draft.
func (d *Draft) Keys() []schema.Key {
	return []schema.Key{schema.Section(
		"dns",
		schema.OneAt("public", &d.server, &d.publicLine, servers()).Must(),
		schema.OneAt("private", &d.dns.Private, &d.privateLine, schema.AddressPort(false)).Must(),
		schema.Many("upstream", &d.upstream, schema.AddressPort(true), 0),
		schema.One("verify", &d.dns.Verify, schema.Choice(VerifyTCP, VerifyNone)),
		schema.One("cache", &d.dns.Cache, schema.Number(0, 1_000_000)),
		schema.One("wait_limit", &d.dns.WaitLimit, schema.Number(1, 4096)),
		schema.One("rebind_protection", &d.dns.RebindProtection, schema.Boolean()),
		schema.Many("rebind_domain_ok", &d.rebindOK, schema.Domain(), 0),
		schema.Many("client_subnet", &d.clientSubnet, schema.Network(), 0),
		schema.ListOf("keys", &d.keys, (*keyEntry).keys),
	)}
}

// Claim implements schema.Claimer.
func (d *Draft) Claim(faults *schema.Faults) {
	d.dns.Public, d.dns.Interface = d.server.at, d.server.device
	if d.server.device == "" {
		d.uses.Take(faults, d.dns.Public.Addr(), schema.Use{Key: schema.DNSPublic, Line: d.publicLine, Joint: true})
	}
	d.uses.Take(faults, d.dns.Private.Addr(), schema.Use{Key: "dns.private", Line: d.privateLine})
}

// Finish implements schema.Draft.
func (d *Draft) Finish(faults *schema.Faults) {
	if name := d.dns.Interface; name != "" && !d.outbound.Followed(name) {
		faults.Add(d.publicLine, "dns.public: %s is no interface whose address is outbound: list it under outbound.addresses, too, or give an address", name)
	}
	d.checkLent(faults)
	d.finishUpstream(faults)
	d.finishKeys(faults)
	d.dns.ClientSubnet = schema.Values(d.clientSubnet)
	d.dns.RebindDomainOK = schema.Values(d.rebindOK)
}

// Port is where the name server outside listens.
func (d *Draft) Port() uint16 { return d.server.at.Port() }

// EachPort calls each for that port.
func (d *Draft) EachPort(_ model.Protocol, each func(used model.Ports, whose string, args ...any)) {
	port := d.Port()
	each(model.Ports{First: port, Last: port}, "the name server is at port %d", port)
}

// checkLent refuses to lend the name server's address whole: outbound, services get ports of it.
func (d *Draft) checkLent(faults *schema.Faults) {
	a := d.dns.Public.Addr()
	if lent, is := d.uses.As(a, schema.PoolAddresses); is && !d.outbound.Follows() {
		if _, is := d.uses.As(a, schema.OutboundAddresses); !is {
			faults.Add(lent.Line, "pool.addresses: %s is dns.public: list it under outbound.addresses, too, so that services get ports of it", a)
		}
	}
}

// finishUpstream refuses servers that would bring our own queries back to us.
func (d *Draft) finishUpstream(faults *schema.Faults) {
	once := schema.Once[netip.AddrPort]{}
	for _, server := range d.upstream {
		if !once.Take(faults, "dns.upstream", server.Value, server.Line) {
			continue
		}
		own := server.Value == d.dns.Public || server.Value == d.dns.Private
		before, lent := d.uses.As(server.Value.Addr(), schema.PoolAddresses)
		if uses := d.uses[server.Value.Addr()]; own && len(uses) > 0 {
			before, lent = uses[0], true
		}
		if lent {
			faults.Add(server.Line, "dns.upstream: %s is %s: name a server that is not this gateway", server.Value, before)
			continue
		}
		d.dns.Upstream = append(d.dns.Upstream, server.Value)
	}
}
