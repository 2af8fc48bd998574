package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// full is a gateway with little room.
type full struct {
	*realm
	*daemon
}

const (
	onePlace   = "pool: {addresses: [198.18.0.32], rest: 2s}"
	morePlaces = "pool: {addresses: [198.18.0.32/28], rest: 2s}"
)

func newFull(t *testing.T) *full {
	t.Helper()
	f := &full{realm: newRealm(t, netns.Options{Hosts: 3, Clients: 1})}
	f.webServers()
	f.realm.command("host1", "nft", "add table ip t; add chain ip t in { type nat hook prerouting priority -100; }; add rule ip t in tcp dport 9000-9999 redirect to :8080")
	f.realm.command("router", "ip", "route", "add", "blackhole", "203.0.0.0/8")
	f.daemon = f.start(f.text(onePlace))
	return f
}

func (f *full) text(pool string) string {
	return with(f.configuration(), pool, "capacity: 65536", "limits: {host_sessions: 0, host_ports: {tcp: 0}, host_rate: 0}") + readable
}

// reloads has another configuration.
func (f *full) reloads(configuration string) {
	f.realm.t.Helper()
	f.write(configuration)
	if out, err := f.tell("reload"); err != nil {
		f.realm.t.Fatal(out)
	}
}

func (f *full) stories() []story {
	many := f.Hosts()[2].IP.String()
	return []story{
		{
			alert: "RealmgateNotMeasured", at: f.daemon,
			begin: func() { f.reloads(f.text(onePlace) + f.manyBackends()) },
		}, {
			alert: "RealmgatePoolExhausted", at: f.daemon,
			begin: f.asksForMore,
			warns: "the pool had no address", hints: []hint{{"realmgate pool", "198.18.0.32"}},
			past: true,
		}, {
			alert: "RealmgatePoolNearlyFull", at: f.daemon,
			end: func() { f.reloads(f.text(morePlaces)) },
		}, {
			alert: "RealmgatePortsNearlyUsed", at: f.daemon,
			begin: f.opensMany,
			hints: []hint{{"realmgate sessions", many}},
			end:   func() {}, // below
		}, {
			alert: "RealmgateTableNearlyFull", at: f.daemon,
			hints: []hint{{"realmgate sessions", many}},
			end: func() {
				if out, err := f.tell("sessions", "end", "--address", many); err != nil {
					f.realm.t.Fatal(out)
				}
			},
		},
	}
}

// asksForMore has a client visit two services by turns, which are at one port and so take the one address from each other.
func (f *full) asksForMore() {
	t, client := f.realm.t, f.Clients[0]
	turn := 0
	eventually(t, 30*time.Second, "one had no address, and one has lost its", func() bool {
		turn++
		if address, err := lent(client, f.Gateway, "www."+hostName(turn%2)); err == nil {
			if _, err := visitWithin(client, address, 80, 5*time.Second); err != nil {
				t.Error(err)
			}
		}
		page := f.scrape()
		return page[`realmgate_pool_offers_total{result="exhausted"}`] > 0 && page["realmgate_pool_moved_total"] > 0
	})
}

// opensMany has a host take most ports and most of the table.
func (f *full) opensMany() {
	const many = 56_000 // of 64,512 ports and 65,536 sessions
	host := f.Hosts()[2]
	frames := f.frames(host, f.Gateway.Private[0], many, func(i int) packets.Packet {
		return packets.NewTCP(netip.AddrPortFrom(host.IP, uint16(2000+i)), netip.MustParseAddrPort("203.0.113.9:443"), packets.SYN, "") //nolint:gosec // a port
	})
	_, stop := f.onslaught(host, 20_000, frames) // over and over, as links lose some
	defer stop()
	eventually(f.realm.t, 60*time.Second, "it has its sessions", func() bool { return f.status().Sessions.Used >= many*99/100 })
}

// manyBackends are more than a page has room for, of two functions; a host is all of them.
func (f *full) manyBackends() string {
	const most = 64
	text := "chains:\n"
	for half := range 2 {
		var list []string
		for i := range most/2 + 1 {
			list = append(list, fmt.Sprintf("{to: %s, port: %d}", f.Hosts()[0].IP, 9000+half*most+i))
		}
		text += fmt.Sprintf("  - {name: web%d, match: {direction: in, to: %s, protocol: tcp, port: %d}, functions: [{use: multipath, backends: [%s], check: {every: 5s}}]}\n",
			half, f.Gateway.Outbound, 8000+half, strings.Join(list, ", "))
	}
	return text
}

// life is a gateway that dies.
type life struct {
	*realm
	*daemon
}

func newLife(t *testing.T) *life {
	t.Helper()
	r := newRealm(t, netns.Options{Hosts: 1})
	return &life{r, r.start(r.configuration() + readable)}
}

func (l *life) stories() []story {
	return []story{{
		alert: "RealmgateDown", at: l.daemon,
		begin: l.kill,
		end:   func() { l.run() },
	}}
}
