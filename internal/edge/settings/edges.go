package settings

import (
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// What a file has at most, and the ports of edges.
const (
	MostPeers  = 4095 // 12 bits of a VNI, and 0 is none
	MostRules  = 256
	MostPins   = 4
	LinkPort   = 48001
	TunnelPort = 6081 // UDP (RFC 8926)
	mostZones  = 64
)

// listenPath is the key of the address of the edge.
const listenPath = "edges.listen"

// Edges is how hosts behind other edges are reached.
type Edges struct {
	Name       model.Name     // ours, to peers; "": there are no edges
	Chain, Key string         // PEM files from the configuration's folder on; "": a pair of our own is made
	Listen     netip.AddrPort // TCP of links; the tunnel is at UDP 6081 of the address
	Proxy      netip.Prefix   // what stands for hosts behind edges, /16 to /28
	Zones      []model.Name   // what we speak for
	Realm      []model.Name   // what we are authoritative for: no peer speaks for a name of it
	MTU        int            // inner octets, 1280 to 9000; 0: by probing
	Hold       time.Duration  // of a pact, where no rule says, 10s to 24h
	Idle       time.Duration  // until an unused pact ends
	Rest       time.Duration  // of a proxy address before another has it
	Wait       time.Duration  // for a handshake, and for an answer
	TTL        time.Duration  // of answers, most
	Pacts      int            // 16 to 65535
	Links      int            // 1 to MostPeers
	Except     []model.Name   // zones that are not asked of edges
	Quotas     Quotas
	Peers      []Peer
	Out, In    []Rule // the first that matches judges
}

// Quotas bound what hosts and peers may have.
type Quotas struct {
	PerHost, PerEdge int     // pacts
	Opens, Refused   float64 // a second, of one peer
	Handshakes       int     // at a time
}

// Given reports whether there are edges.
func (e *Edges) Given() bool { return e.Name != "" }

// Ports are those of our address at which peers meet us.
func (e *Edges) Ports() []model.Port {
	link := e.Listen.Port()
	return []model.Port{{Protocol: model.TCP, Port: link, To: link}, {Protocol: model.UDP, Port: TunnelPort, To: TunnelPort}}
}

// Paths are where our certificate and its key are, seen from a configuration file's folder.
func (e *Edges) Paths(configuration string) (chain, key string) {
	return schema.Beside(configuration, e.Chain), schema.Beside(configuration, e.Key)
}

// PeerOf finds the peer that speaks for a name: that of the longest zone. One zone may be around another's, or around ours.
func (e *Edges) PeerOf(name model.Name) (found Peer, ok bool) {
	if slices.ContainsFunc(e.Realm, name.In) {
		return Peer{}, false
	}
	longest := model.Name("")
	for _, p := range e.Peers {
		for _, z := range p.Zones {
			if name.In(z) && len(z) > len(longest) {
				found, ok, longest = p, true, z
			}
		}
	}
	return found, ok
}

// Interfaces are those of the gateway.
type Interfaces interface{ Single() bool }

// Realm is what the gateway is authoritative for.
type Realm interface{ ZoneNames() []model.Name }

// Draft is `edges`.
type Draft struct {
	edges       *Edges
	uses        schema.Uses
	interfaces  Interfaces
	realm       Realm
	line        int
	listenLine  int
	proxyLine   int
	ttlLine     int
	restLine    int
	perEdgeLine int
	zones       []schema.At[model.Name]
	except      []schema.At[model.Name]
	peers       []*peer
	out, in     []*rule
	outLine     int
}

// New makes a draft whose values go to edges, and which says in uses what the address is for.
func New(edges *Edges, uses schema.Uses, interfaces Interfaces, realm Realm) *Draft {
	*edges = Edges{
		Hold: time.Hour, Idle: 5 * time.Minute, Rest: 730 * time.Second, Wait: 2 * time.Second, TTL: 30 * time.Second, Pacts: 4096, Links: 256,
		Quotas: Quotas{PerHost: 256, PerEdge: 1024, Opens: 100, Refused: 20, Handshakes: 32},
	}
	return &Draft{edges: edges, uses: uses, interfaces: interfaces, realm: realm}
}

// Keys implements schema.Draft.
func (d *Draft) Keys() []schema.Key {
	e := d.edges
	return []schema.Key{schema.Noting(&d.line, schema.Section(
		"edges",
		schema.One("name", &e.Name, schema.Domain()).Must(),
		schema.Section(
			"certificate",
			schema.One("chain", &e.Chain, schema.FileName()).Must(),
			schema.One("key", &e.Key, schema.FileName()).Must(),
		),
		schema.OneAt("listen", &e.Listen, &d.listenLine, endpoint()).Must(),
		schema.OneAt("proxy", &e.Proxy, &d.proxyLine, proxyRange()).Must(),
		schema.Many("zones", &d.zones, schema.Domain(), 1).Most(mostZones).Otherwise("those of realm.zones"),
		schema.One("mtu", &e.MTU, mtu(true)),
		schema.One("hold", &e.Hold, schema.Duration(10*time.Second, 24*time.Hour)),
		schema.One("idle", &e.Idle, schema.Duration(10*time.Second, 24*time.Hour)),
		schema.OneAt("rest", &e.Rest, &d.restLine, schema.Duration(time.Second, 24*time.Hour)),
		schema.One("wait", &e.Wait, schema.Duration(100*time.Millisecond, 10*time.Second)),
		schema.OneAt("ttl", &e.TTL, &d.ttlLine, schema.Duration(time.Second, 30*time.Second)),
		schema.One("pacts", &e.Pacts, schema.Number(16, 65535)),
		schema.One("links", &e.Links, schema.Number(1, MostPeers)),
		schema.Many("except", &d.except, schema.Domain(), 0).Most(mostZones),
		schema.Section(
			"quotas",
			schema.One("per_host", &e.Quotas.PerHost, schema.Number(1, 65535)),
			schema.OneAt("per_edge", &e.Quotas.PerEdge, &d.perEdgeLine, schema.Number(1, 65535)).Otherwise("1024, or half of all where that is less"),
			schema.One("opens", &e.Quotas.Opens, rate(10_000)),
			schema.One("refused", &e.Quotas.Refused, rate(10_000)),
			schema.One("handshakes", &e.Quotas.Handshakes, schema.Number(1, 1024)),
		),
		schema.ListOf("peers", &d.peers, (*peer).keys).Most(MostPeers),
		schema.Noting(&d.outLine, schema.ListOf("out", &d.out, (*rule).keys).Most(MostRules).Otherwise("all may")),
		schema.ListOf("in", &d.in, (*rule).keys).Most(MostRules),
	))}
}

// Claim implements schema.Claimer.
func (d *Draft) Claim(faults *schema.Faults) {
	d.uses.Take(faults, d.edges.Listen.Addr(), schema.Use{Key: listenPath, Line: d.listenLine, Joint: true})
}

// Finish implements schema.Draft.
func (d *Draft) Finish(faults *schema.Faults) {
	if d.line == 0 {
		return
	}
	if d.interfaces.Single() {
		faults.Add(d.line, "edges: a machine of its own has no hosts behind it: edges take interfaces.private")
	}
	e := d.edges
	if e.Rest <= e.TTL {
		faults.Add(max(d.restLine, d.ttlLine), "edges.rest: %s is no longer than edges.ttl, %s: an address would be another's while it is remembered", schema.ShowDuration(e.Rest), schema.ShowDuration(e.TTL))
	}
	d.checkProxy(faults)
	d.finishQuotas(faults)
	e.Except, e.Zones = schema.Values(d.except), schema.Values(d.zones)
	own := d.realm.ZoneNames()
	for _, z := range d.zones {
		if !slices.ContainsFunc(own, func(o model.Name) bool { return z.Value.In(o) }) {
			faults.Add(z.Line, "edges.zones: %s is in none of realm.zones", z.Value)
		}
	}
	if e.Realm = own; len(e.Zones) == 0 {
		e.Zones = own
	}
	if n := len(e.Zones); n > mostZones && len(d.zones) == 0 { // more than a peer is told
		faults.Add(d.line, "edges.zones: there are %d realm.zones, and edges speak for at most %d: list those", n, mostZones)
	}
	d.finishPeers(faults, own)
	e.Out = finishRules(faults, "edges.out", d.out, e.Zones, func(r *rule) []schema.At[model.Name] { return r.from })
	if d.outLine == 0 {
		e.Out = []Rule{{From: []model.Name{Anything}, To: []model.Name{Anything}}}
	}
	e.In = finishRules(faults, "edges.in", d.in, e.Zones, func(r *rule) []schema.At[model.Name] { return r.to })
}

// finishQuotas sees to it that no peer can have all pacts, or all proxy addresses.
func (d *Draft) finishQuotas(faults *schema.Faults) {
	e := d.edges
	if d.proxyLine == 0 {
		return
	}
	usable := 1<<(32-e.Proxy.Bits()) - 2
	if e.Proxy.Bits() <= 24 { // none that ends in 0 or 255
		usable = 254 << (24 - e.Proxy.Bits())
	}
	switch all := min(e.Pacts, usable); {
	case d.perEdgeLine == 0:
		e.Quotas.PerEdge = min(e.Quotas.PerEdge, all/2)
	case e.Quotas.PerEdge >= all:
		faults.Add(d.perEdgeLine, "edges.quotas.per_edge: one peer could have all: edges.pacts and edges.proxy have room for %d", all)
	}
}

// checkProxy sees to it that nothing else is in the proxy range.
func (d *Draft) checkProxy(faults *schema.Faults) {
	first := schema.Use{}
	var where netip.Addr
	for a, uses := range d.uses {
		for _, u := range uses {
			if d.proxyLine > 0 && d.edges.Proxy.Contains(a) && (first.Line == 0 || u.Line < first.Line) {
				first, where = u, a
			}
		}
	}
	if first.Line > 0 {
		faults.Add(d.proxyLine, "edges.proxy: %s is in it and is used by %s: the range stands for hosts behind edges alone", where, first)
	}
}
