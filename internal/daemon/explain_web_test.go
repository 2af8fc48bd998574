package daemon

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

// Of a web name the way of a visitor is told, from the SYN to the host; of the address alone no more than that of the SYN.
func TestExplainWebName(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoSites+`protection: {blocklist: [192.0.2.0/24]}
chains:
  - {name: sites, match: {service: shop.foo.example.}, functions: [{use: filter, name: foes, deny: [203.0.113.128/25]}]}
`)
	r.routed()
	for _, c := range []struct{ from, to, want, why string }{
		{"203.0.113.70", "www.foo.example.", "ban continue, protection/allowlist continue, protection/blocklist continue, cookie answer, name web, chain none, host connect, pass", "tcp 10.0.0.100:443"},
		{"203.0.113.70", "shop.foo.example.", "ban continue, protection/allowlist continue, protection/blocklist continue, cookie answer, name web, chain sites, sites/foes continue, host connect, pass", "tcp 10.0.0.101:8443"},
		{"203.0.113.200", "shop.foo.example.", "ban continue, protection/allowlist continue, protection/blocklist continue, cookie answer, name web, chain sites, sites/foes drop, drop drop_denied sites/foes", "at the web address 198.18.0.80"},
		{"192.0.2.7", "shop.foo.example.", "ban continue, protection/allowlist continue, protection/blocklist drop, drop drop_denied protection/blocklist", ""},
		{"203.0.113.70", "", "ban continue, protection/allowlist continue, protection/blocklist continue, cookie answer, name wait, pass held_for_name", "--name NAME"},
	} {
		request := api.ExplainRequest{Address: netip.MustParseAddr(c.from), ToName: model.Name(c.to), Direction: model.In, Protocol: model.TCP, Port: 443}
		if c.to == "" {
			request.ToAddress = webAddress
		}
		x, err := r.explain(request)
		r.must(err)
		whole := ""
		for _, s := range x.Steps {
			whole += s.Why + "\n"
		}
		if said(x) != c.want || !strings.Contains(whole, c.why) {
			t.Errorf("from %s to %q: %s\n%swant %s, %q", c.from, c.to, said(x), whole, c.want, c.why)
		}
	}
}

// Of a client at a web address it tells what becomes of one that says a name there, whichever it says.
func TestExplainSaidName(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.Replace(twoSites, "[shop.foo.example.", "['*.shop.foo.example.'", 1)+`chains:
  - {name: sites, match: {service: '*.shop.foo.example.'}, functions: [{use: filter, name: foes, deny: [203.0.113.128/25]}]}
`)
	r.routed()
	const asked, unknown = "ban continue, cookie answer, ", "name drop, drop drop_name_unknown"
	for _, c := range []struct {
		from, says, at string
		protocol       model.Protocol
		port           uint16
		want, why      string
	}{
		{from: "203.0.113.70", says: "www.foo.example.", want: asked + "name web, chain none, host connect, pass", why: "www.foo.example. is tcp 10.0.0.100:443, at"},
		{from: "203.0.113.70", says: "a.shop.foo.example.", at: "198.18.0.80", want: asked + "name web, chain sites, sites/foes continue, host connect, pass", why: "a.shop.foo.example. leads to *.shop.foo.example., which is tcp 10.0.0.101:8443"},
		{from: "203.0.113.200", says: "a.shop.foo.example.", want: asked + "name web, chain sites, sites/foes drop, drop drop_denied sites/foes"},
		{from: "203.0.113.70", says: "elsewhere.example.", want: asked + unknown, why: "no web name at tcp port 443 is elsewhere.example.: TLS hears"},
		{from: "203.0.113.70", says: "www.foo.example.", protocol: model.TCP, port: 80, want: "ban continue, name drop, drop drop_no_binding", why: "no web name is at tcp port 80"},
		{from: "203.0.113.70", says: "198.18.0.80.", want: asked + unknown},
	} {
		request := api.ExplainRequest{Address: netip.MustParseAddr(c.from), Says: model.Name(c.says), Direction: model.In, Protocol: c.protocol, Port: c.port}
		if c.at != "" {
			request.ToAddress = netip.MustParseAddr(c.at)
		}
		x, err := r.explain(request)
		r.must(err)
		whole := ""
		for _, s := range x.Steps {
			whole += s.Why + "\n"
		}
		if said(x) != c.want || !strings.Contains(whole, c.why) || x.Name != c.says {
			t.Errorf("%+v: %s\n%s", c, said(x), whole)
		}
	}
	_, err := r.explain(api.ExplainRequest{Address: netip.MustParseAddr("203.0.113.70"), Says: "www.foo.example.", ToAddress: netip.MustParseAddr("198.51.100.9"), Direction: model.In})
	if err == nil || !strings.Contains(err.Error(), "it is none of web.addresses") {
		t.Errorf("a name at what is no web address: %v", err)
	}
}

// The same of QUIC, whose first datagram is held until its name is read.
func TestExplainSaidNameByQUIC(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.NewReplacer("ports: [tcp/443]}", "ports: [tcp/443, udp/443]}", "[198.18.0.80]}", "[198.18.0.80], quic: true}").Replace(twoSites))
	r.routed()
	for says, want := range map[model.Name]string{
		"www.foo.example.":   "ban continue, name web, chain none, host connect, pass",
		"other.foo.example.": "ban continue, name drop, drop drop_name_unknown",
	} {
		x, err := r.explain(api.ExplainRequest{Address: netip.MustParseAddr("203.0.113.70"), Says: says, Direction: model.In, Protocol: model.UDP})
		r.must(err)
		if said(x) != want || x.Port != 443 {
			t.Errorf("%s at port %d: %s, want %s", says, x.Port, said(x), want)
		}
	}
}

// At port 80 of a name that redirects nobody reaches the host, but ACME; at 443 everybody does.
func TestExplainRedirect(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.Replace(twoSites, "ports: [tcp/443]}", "ports: [tcp/80, tcp/443], redirect: https}", 1))
	r.routed()
	for port, want := range map[uint16]string{80: "cookie answer, name web, chain none, host redirect, pass", 443: "cookie answer, name web, chain none, host connect, pass"} {
		x, err := r.explain(api.ExplainRequest{
			Address: netip.MustParseAddr("203.0.113.70"), ToName: "www.foo.example.", Direction: model.In, Protocol: model.TCP, Port: port,
		})
		r.must(err)
		if !strings.HasSuffix(said(x), want) {
			t.Errorf("port %d: %s, want %s", port, said(x), want)
		}
	}
}
