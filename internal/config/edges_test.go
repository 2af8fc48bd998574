package config

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"reflect"
	"testing"
	"time"

	edge "github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/model"
)

// Every key of edges arrives where it belongs.
func TestEdges(t *testing.T) {
	c, err := load("testdata/edges.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	pin := [32]byte{}
	for i := range pin {
		pin[i] = byte(i + 1)
	}
	second, third := pin, pin
	second[0], third[0] = 0, 9
	http := model.Port{Protocol: model.TCP, Port: 80, To: 80}
	want := edge.Edges{
		Name: "edge.a.example.", Chain: "edge.pem", Key: "edge.key", Listen: netip.MustParseAddrPort("198.18.0.1:48002"),
		Proxy: netip.MustParsePrefix("172.31.0.0/16"), Zones: []model.Name{"a.example."}, Realm: []model.Name{"a.example."}, MTU: 1400,
		Hold: 2 * time.Hour, Idle: 6 * time.Minute, Rest: 731 * time.Second, Wait: 3 * time.Second, TTL: 29 * time.Second, Pacts: 4097, Links: 257,
		Except: []model.Name{"cdn.b.example."}, Quotas: edge.Quotas{PerHost: 255, PerEdge: 1023, Opens: 99, Refused: 19, Handshakes: 31},
		Peers: []edge.Peer{
			{Name: "edge.b.example.", Zones: []model.Name{"b.example."}, Address: netip.MustParseAddrPort("203.0.113.9:48001"), Pins: [][32]byte{pin}, Legacy: true, MTU: 1352},
			{Name: "edge.c.example.", Zones: []model.Name{"c.example.", "d.example."}, Pins: [][32]byte{third, second}},
		},
		Out: []edge.Rule{
			{From: []model.Name{"hosta.a.example."}, To: []model.Name{"*.b.example."}, Require: edge.Terms{Vouched: "pinned", Confidential: "no", Hold: time.Hour}, Offer: edge.Terms{Name: "full"}},
			{From: []model.Name{"*"}, To: []model.Name{"cdn.b.example."}, Deny: true},
		},
		In: []edge.Rule{{From: []model.Name{"*.b.example."}, To: []model.Name{"hosta.a.example."}, Require: edge.Terms{
			Vouched: "pinned", Name: "full", Sessions: 100, Rate: 1000, Hold: time.Hour, Services: []model.Port{http, {Protocol: model.ICMP}},
		}}},
	}
	if !reflect.DeepEqual(c.Edges, want) {
		t.Errorf("\n got %+v\nwant %+v", c.Edges, want)
	}
}

// A name is of the peer that has the longest zone, by whole labels.
func TestPeerOf(t *testing.T) {
	e := edge.Edges{Realm: []model.Name{"ours.b.example."}, Peers: []edge.Peer{
		{Name: "one.", Zones: []model.Name{"b.example."}}, {Name: "two.", Zones: []model.Name{"x.b.example.", "c.example."}},
	}}
	for name, want := range map[model.Name]model.Name{
		"b.example.": "one.", "www.b.example.": "one.", "x.b.example.": "two.", "www.x.b.example.": "two.", "evilb.example.": "", "yx.b.example.": "one.", "example.": "",
		"ours.b.example.": "", "www.ours.b.example.": "", "yours.b.example.": "one.",
	} {
		if p, ok := e.PeerOf(name); p.Name != want || ok != (want != "") {
			t.Errorf("%s is of %q, want %q", name, p.Name, want)
		}
	}
}

// Without the default of rules nobody is reached: an empty list says so.
func TestEdgesWithoutRules(t *testing.T) {
	const edges = "edges: {name: e.example, listen: 198.18.0.1, proxy: 172.31.0.0/24%s}\n"
	for rules, want := range map[string]int{"": 1, ", out: []": 0} {
		c, err := Parse("f.yaml", []byte(leastFile+fmt.Sprintf(edges, rules)))
		if err != nil || len(c.Edges.Out) != want || len(c.Edges.In) != 0 || !reflect.DeepEqual(c.Edges.Zones, c.Realm.ZoneNames()) {
			t.Errorf("%q: %v", rules, err)
		}
	}
}

// Unless it is said, a peer may have half at most of what there is.
func TestPactsOfAPeer(t *testing.T) {
	for more, want := range map[string]int{
		"proxy: 172.31.0.0/16": 1024, "proxy: 172.31.0.0/24": 127, "proxy: 172.31.0.16/28": 7, "proxy: 172.31.0.0/23": 254, "proxy: 172.31.0.0/16, pacts: 16": 8,
		"proxy: 172.31.0.0/24, quotas: {per_edge: 253}": 253,
	} {
		c, err := Parse("f.yaml", []byte(leastFile+"edges: {name: e.example, listen: 198.18.0.1, "+more+"}\n"))
		if err != nil || c.Edges.Quotas.PerEdge != want {
			t.Errorf("%s: %v, want %d", more, err, want)
		}
	}
}

const leastFile = `interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example], nameserver: ns.elsewhere.example}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32]}
`

func renderEdges(line writeLine, e edge.Edges) {
	if !e.Given() {
		return
	}
	mtu := "auto"
	if e.MTU > 0 {
		mtu = fmt.Sprint(e.MTU)
	}
	line("edges:\n  name: %q\n  listen: %q\n  proxy: %s\n  zones: %s\n  mtu: %s\n  hold: %s\n  idle: %s\n  rest: %s\n  wait: %s\n  ttl: %s\n  pacts: %d\n  links: %d\n  except: %s",
		e.Name, e.Listen, e.Proxy, list(e.Zones), mtu, e.Hold, e.Idle, e.Rest, e.Wait, e.TTL, e.Pacts, e.Links, list(e.Except))
	if e.Chain != "" {
		line("  certificate: {chain: %q, key: %q}", e.Chain, e.Key)
	}
	q := e.Quotas
	line("  quotas: {per_host: %d, per_edge: %d, opens: %g/s, refused: %g/s, handshakes: %d}\n  peers: [", q.PerHost, q.PerEdge, q.Opens, q.Refused, q.Handshakes)
	for _, p := range e.Peers {
		var pins []string
		for _, pin := range p.Pins {
			pins = append(pins, "sha256/"+base64.StdEncoding.EncodeToString(pin[:]))
		}
		more := ", fallback: none"
		if p.Legacy {
			more = ", fallback: legacy"
		}
		if p.Address.IsValid() {
			more += fmt.Sprintf(", address: %q", p.Address)
		}
		if p.MTU > 0 {
			more += fmt.Sprintf(", mtu: %d", p.MTU)
		}
		line("    {name: %q, zones: %s, key: %s%s},", p.Name, list(p.Zones), list(pins), more)
	}
	line("  ]\n  out: [")
	renderEdgeRules(line, e.Out)
	line("  ]\n  in: [")
	renderEdgeRules(line, e.In)
	line("  ]")
}

func renderEdgeRules(line writeLine, rules []edge.Rule) {
	for _, r := range rules {
		more := ""
		for key, terms := range map[string]edge.Terms{"require": r.Require, "offer": r.Offer} {
			words := ""
			for _, word := range [][2]string{{"vouched", terms.Vouched}, {"name", terms.Name}, {"confidential", terms.Confidential}} {
				if word[1] != "" {
					words += fmt.Sprintf("%s: %q, ", word[0], word[1])
				}
			}
			more += fmt.Sprintf(", %s: {%s}", key, words)
		}
		if t := r.Require; t.Hold > 0 {
			more += fmt.Sprintf(", hold: %s", t.Hold)
		}
		limit := ""
		if n := r.Require.Sessions; n > 0 {
			limit += fmt.Sprintf("sessions: %d, ", n)
		}
		if f := r.Require.Rate; f > 0 {
			limit += fmt.Sprintf("rate: %g/s", f)
		}
		if s := r.Require.Services; len(s) > 0 {
			more += ", services: " + list(model.PortTexts(s))
		}
		line("    {from: %s, to: %s, deny: %t, limit: {%s}%s},", list(r.From), list(r.To), r.Deny, limit, more)
	}
}
