package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// chainsFor denies clients the echo service of the first host.
func chainsFor(denied ...netns.Node) string {
	var list []string
	for _, n := range denied {
		list = append(list, n.IP.String())
	}
	return fmt.Sprintf("chains: [{name: echo, match: {service: echo.%s}, functions: [{use: filter, priority: 10, deny: [%s]}]}]\n",
		hostName(0), strings.Join(list, ", "))
}

// A chain denies whom it names, and nobody else, and nothing but what it is for; by a
// reload also who is in already; and what it did is counted, across reloads and a kill.
func TestChainDeniesByReload(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 2})
	r.echoServers()
	d := r.start(r.configuration() + chainsFor(r.Clients[1]))
	talk, other := r.conversation(r.Clients[0], 0), r.conversation(r.Clients[0], 1)
	address := r.mustLend(r.Clients[1], "echo."+hostName(0))
	if who, err := echo(r.Clients[1], netip.AddrPort{}, echoAddress(address)); err == nil {
		t.Errorf("who is denied reached %s", who)
	}
	r.mustReach(r.Clients[1], 1)
	if out, err := d.tell("chain", "list"); err != nil || !strings.Contains(out, "service echo."+hostName(0)) {
		t.Errorf("chain list: %v: %s", err, out)
	}
	first := d.functions("echo")[0]
	if first.Name != "filter" || first.Dropped == 0 || first.Seen <= first.Dropped {
		t.Errorf("what the filter did: %+v", first)
	}
	d.write(r.configuration() + chainsFor(r.Clients[0], r.Clients[1]))
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	if !d.refuses(talk, "drop_denied") {
		t.Error("a session that is denied now goes on")
	}
	if who, err := echoOn(other); err != nil || who != hostName(1) {
		t.Errorf("a session that no chain is for reached %q: %v", who, err)
	}
	if d.counted("drop_denied") == 0 {
		t.Error("no drop_denied was counted")
	}
	second := d.functions("echo")[0]
	if second.Dropped <= first.Dropped {
		t.Errorf("the filter did %+v, and %+v after a reload", first, second)
	}
	before := d.counted("drop_denied")
	d.kill()
	d.sends(talk)
	d.write(r.configuration())
	d.run()
	if !d.refused(talk, "drop_denied", before) {
		t.Error("without its daemon the gateway denies no more")
	}
	if chains, err := d.tell("chain", "list"); err != nil || strings.Contains(chains, "echo") {
		t.Errorf("chain list: %v: %s", err, chains)
	}
	if who, err := echoOn(talk); err != nil || who != hostName(0) {
		t.Errorf("a session that nothing denies any more reached %q: %v", who, err)
	}
}

// A chain that cannot be compiled changes nothing.
func TestChainThatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	r.echoServers()
	good := r.configuration() + chainsFor(r.Clients[0])
	d := r.start(good)
	var prefixes []string
	for bits := 1; bits <= 32; bits++ {
		prefixes = append(prefixes, netip.PrefixFrom(r.Clients[0].IP, bits).Masked().String())
	}
	d.write(r.configuration() + fmt.Sprintf("chains: [{name: deep, functions: [{use: filter, deny: [%s]}]}]\n", strings.Join(prefixes, ", ")))
	out, err := d.tell("reload")
	if err == nil || !strings.Contains(out, "chains: function deep/filter: more than 14 different conditions of the") {
		t.Errorf("reload ended with %v: %s", err, out)
	}
	if before := d.functions("echo"); len(before) != 1 {
		t.Errorf("chain show: %+v", before)
	}
	address := r.mustLend(r.Clients[0], "echo."+hostName(0))
	if who, err := echo(r.Clients[0], netip.AddrPort{}, echoAddress(address)); err == nil {
		t.Errorf("who is denied by the chain in force reached %s", who)
	}
}

func (d *daemon) functions(chain string) []client.Function {
	d.t.Helper()
	return list[client.Chain](d, "chain", "show", chain).Functions
}
