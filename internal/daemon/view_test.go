package daemon

import (
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/config"
)

const text = `interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32/28]}
hosts:
  - name: hosta.foo.example.
    address: 10.0.0.100
    services: [{name: www.hosta.foo.example., protocol: tcp, port: 80, to: 8080}]
`

const edges = `edges:
  name: edge.foo.example.
  listen: 198.18.0.1:48001
  proxy: 172.31.0.0/16
`

func document(t *testing.T, text string) *config.Document {
	t.Helper()
	d, err := config.NewDocument("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func viewOf(t *testing.T, text string) *view {
	t.Helper()
	v, err := newView(document(t, text), nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestReloadRefusesWhatOnlyARestartChanges(t *testing.T) {
	t.Parallel()
	g := newDaemon(Options{ConfigFile: "test.yaml"})
	refused := func(now string) []string {
		return g.services.Immutable((&view{document: document(t, text)}).next(wanted{document: document(t, now)}))
	}
	for key, changed := range map[string]string{
		"interfaces":     strings.Replace(text, "eth1", "eth2", 1),
		"capacity":       text + "capacity: 5000\n",
		"outbound.slots": text + "outbound: {slots: 5}\n",
		"edges.pacts":    text + edges + "  pacts: 8192\n",
		"edges.links":    text + edges + "  links: 512\n",
		"dns.public":     strings.Replace(text, "198.18.0.1,", "198.18.0.3,", 1),
		"dns.private":    strings.Replace(text, "10.0.0.1}", "10.0.0.2}", 1),
	} {
		if keys := refused(changed); !slices.Contains(keys, key) {
			t.Errorf("%s: %q", key, keys)
		}
	}
	for _, same := range []string{text, strings.Replace(text, "10.0.0.100", "10.0.0.101", 1), text + "ipv6: forward\n", text + edges} {
		if keys := refused(same); len(keys) > 0 {
			t.Errorf("%q", keys)
		}
	}
}
