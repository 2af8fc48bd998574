package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// paths is a gateway with ways to elsewhere: a router, two private networks, a name server upstream.
type paths struct {
	*realm
	*daemon
	upstream *netns.Command
}

func newPaths(t *testing.T) *paths {
	t.Helper()
	p := &paths{realm: newRealm(t, netns.Options{Hosts: 1, Clients: 1, PrivateInterfaces: 2, Resolver: true})}
	p.upstream = p.resolver()
	p.realm.command("client1", "ip", "route", "add", "local", "203.0.113.0/24", "dev", "lo")
	p.realm.command("gateway", "ip", "route", "add", "203.0.113.0/24", "via", p.Clients[0].IP.String())
	// The kernel doubts a neighbour after 15 to 45 s, if nobody says otherwise, and has then to ask.
	p.must(p.Gateway.SetSysctl("net/ipv4/neigh/"+p.Gateway.Public[0]+"/base_reachable_time_ms", "1000"))
	p.daemon = p.start(p.configuration() + readable)
	// The host goes by that router all the while, and asks for names.
	p.goesOn("ping -i 0.2 203.0.113.1")
	p.goesOn(fmt.Sprintf("n=0; while sleep 0.2; do n=$((n+1)); dig +tries=1 @%s n$n.test.example & done", p.Gateway.PrivateAddress))
	return p
}

// goesOn has the host do something until the test ends.
func (p *paths) goesOn(words string) {
	p.realm.t.Helper()
	command := p.Hosts()[0].Command(context.Background(), "sh", "-c", words)
	p.must(command.Start())
	p.realm.t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
}

func (p *paths) stories() []story {
	second := p.Gateway.Private[1]
	return []story{
		{
			alert: "RealmgateRestarted", at: p.daemon,
			begin: func() {
				p.kill()
				p.run()
				if p.scrape()["realmgate_adopted"] != 1 {
					p.realm.t.Error("it has not taken over the data plane")
				}
			},
			past: true,
		}, {
			alert: "RealmgateNextHopDown", at: p.daemon,
			begin: func() { p.must(p.Clients[0].Down("eth0")) },
			hints: []hint{{"ip neighbour", p.Clients[0].IP.String() + " dev eth0"}, {"ip route", "203.0.113.0/24 via " + p.Clients[0].IP.String()}},
			end:   func() { p.must(p.Clients[0].Up("eth0")) },
		}, {
			alert: "RealmgateInterfaceAbsent", at: p.daemon,
			begin: func() { p.realm.command("gateway", "ip", "link", "del", second) },
			warns: "interface " + second + " has vanished", hints: []hint{{"ip link", "eth0"}},
			end: func() {
				p.realm.command("gateway", "ip", "link", "add", second, "type", "veth", "peer", "name", "gateway1", "netns", p.ID()+"-switch")
				p.realm.command("gateway", "ip", "link", "set", second, "up")
			},
		}, {
			alert: "RealmgateUpstreamFailing", at: p.daemon,
			begin: func() {
				p.must(p.upstream.Process.Kill())
				_ = p.upstream.Wait()
			},
			warns: "no upstream name server answered",
			hints: []hint{{"dig @SERVER example.org", "no servers could be reached"}, {"realmgate doctor", "name server 198.51.100.53:53 does not answer"}},
			end:   func() { p.resolver() },
		},
	}
}
