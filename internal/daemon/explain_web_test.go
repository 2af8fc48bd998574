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
		{"203.0.113.70", "", "ban continue, protection/allowlist continue, protection/blocklist continue, cookie answer, name wait, pass held_for_name", "--to NAME"},
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
