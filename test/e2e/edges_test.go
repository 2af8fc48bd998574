package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	edgelink "github.com/realmgate/realmgate/internal/edge/link"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/certificate"
)

// edges are two gateways with the same addresses inside, whose hosts reach each other by name. That of a is a.example.
type edges struct {
	*realm
	a, b           *daemon
	configurations map[string]string            // by letter, as is
	before         map[string]map[string]string // settings of the machine, before the start
}

// newEdges starts both. change may change the configuration of each, which is of "a" or "b".
func newEdges(t *testing.T, options netns.Options, change func(letter, configuration string) string) *edges {
	t.Helper()
	options.Gateways = 2
	e := &edges{realm: newRealm(t, options), configurations: map[string]string{}, before: map[string]map[string]string{}}
	pins := map[string]string{}
	for _, letter := range []string{"a", "b"} {
		pair := certificate.SelfSigned(t, certificate.ForNames("edge."+letter+".example"))
		pair.Write(t, filepath.Join(e.directory, letter+".pem"), filepath.Join(e.directory, letter+".key"))
		pin := edgelink.Pin(pair.Certificate)
		pins[letter] = "sha256/" + base64.StdEncoding.EncodeToString(pin[:])
	}
	start := func(i int, letter, other string) *daemon {
		g, peer := e.Gateways[i], e.Gateways[1-i]
		c := strings.ReplaceAll(configurationOf(g), "foo.example", letter+".example")
		c = with(c, fmt.Sprintf("edges: {name: edge.%s.example, certificate: {chain: %[1]s.pem, key: %[1]s.key}, listen: %s, proxy: 172.31.0.0/16, "+
			"peers: [{name: edge.%s.example, zones: [%[3]s.example], address: %s, key: %s}], in: [{from: [\"*.%[3]s.example\"], to: [\"*.%[1]s.example\"]}]}",
			letter, g.PublicAddress, other, peer.PublicAddress, pins[other]))
		if change != nil {
			c = change(letter, c)
		}
		e.configurations[letter], e.before[letter] = c, hostSettings(t, g)
		return e.startAt(g, e.ID()+"-"+letter, c)
	}
	e.a, e.b = start(0, "a", "b"), start(1, "b", "a")
	return e
}

// hostAt is a host behind an edge.
func (d *daemon) hostAt(i int) netns.Node { return d.gateway.Hosts[i] }

// ask asks for a name as a host does, and wants one address.
func (d *daemon) ask(host int, name string) netip.Addr {
	d.t.Helper()
	found, err := dig(d.hostAt(host), d.gateway.PrivateAddress, name)
	if err != nil || len(found) != 1 {
		out, _ := d.hostAt(host).Command(context.Background(), "dig", "@"+d.gateway.PrivateAddress.String(), name).CombinedOutput()
		d.t.Fatalf("%s: %v, %v\n%s", name, found, err, out)
	}
	return found[0]
}

// Two networks with the same addresses fetch from each other by name.
func TestThinEdge(t *testing.T) {
	t.Parallel()
	e := newEdges(t, netns.Options{Hosts: 1}, nil)
	e.nginx(e.a.hostAt(0))
	e.nginx(e.b.hostAt(0))
	for _, way := range []struct {
		from *daemon
		name string
	}{{e.a, "www.host1.b.example"}, {e.b, "www.host1.a.example"}, {e.a, "www.host1.b.example"}} {
		proxy := way.from.ask(0, way.name)
		if !netip.MustParsePrefix("172.31.0.0/16").Contains(proxy) {
			t.Fatalf("%s is %s", way.name, proxy)
		}
		if got, err := curl(way.from.hostAt(0), proxy, 80); err != nil || got != strings.Repeat("x", 100) {
			t.Errorf("from %s: got %q, %v\n%s", way.name, got, err, way.from.gateway.Name())
		}
	}
}
