package browser

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// Where the measurement's servers are, behind the router.
var (
	rootAddress = netip.MustParseAddr("198.51.100.10") // the root server
	holdServer  = netip.MustParseAddr("198.51.100.11") // the zone's server
	unboundIP   = netip.MustParseAddr("198.51.100.53")
	dnsmasqIP   = netip.MustParseAddr("198.51.100.54")
	resolvedIP  = netip.MustParseAddr("198.51.100.55")
	staleIP     = netip.MustParseAddr("198.51.100.56") // unbound with serve-expired
	patientIP   = netip.MustParseAddr("198.51.100.57") // the same as RFC 8767 advises it
	minimumIP   = netip.MustParseAddr("198.51.100.58") // unbound with cache-min-ttl: 60
	worstIP     = netip.MustParseAddr("198.51.100.59") // both
)

const (
	firstWeb = 64 // the web server is at 198.51.100.64 to .95
	webs     = 32
	zone     = "hold.example."
)

// holder is a client whose holding on to addresses is measured.
type holder struct {
	name     string
	resolver netip.Addr
	start    func(*machine) (fetcher, error)
	primed   int // seconds before it, another client asks the resolver
}

// fetcher gets the text at http://name/ in one process that goes on.
type fetcher interface {
	fetch(ctx context.Context, name string) (string, error)
}

// browserFetcher fetches from within a page.
type browserFetcher struct{ tab tab }

func (b browserFetcher) fetch(ctx context.Context, name string) (string, error) {
	return b.tab.evaluate(ctx, fmt.Sprintf("fetch('http://%s/', {cache: 'no-store'}).then(r => r.text())", strings.TrimSuffix(name, ".")))
}

// observation is what one name saw: a fetch, a wait, and a fetch.
type observation struct {
	wait  int     // seconds
	age   float64 // at the second fetch, seconds since its address was last in an answer
	fresh bool    // it came by a new connection
	err   error
}

// TestHowLongAddressesAreHeld measures, for each client, the longest time after
// an answer with TTL 0 at which it opens a new connection to that answer's
// address, though the name has had another one since. There is no gateway in it.
func TestHowLongAddressesAreHeld(t *testing.T) {
	lab.LengthyOnly(t)
	clients := slices.DeleteFunc(holders(), func(h holder) bool {
		// Some of them, where not all are wanted: REALMGATE_HOLDERS='OpenJDK|asked before'.
		return !regexp.MustCompile(os.Getenv("REALMGATE_HOLDERS")).MatchString(h.name)
	})
	w := newWorld(t, netns.Options{RemoteClients: len(clients), Servers: 1, Resolver: true})
	authority := w.holdServers()
	var running sync.WaitGroup
	for i, h := range clients {
		f, err := h.start(w.newMachine(w.RemoteClients[i], h.resolver))
		if err != nil {
			t.Errorf("%s: %v", h.name, err)
			continue
		}
		running.Go(func() {
			before := func(name string) {
				if h.primed > 0 {
					_, _ = lookUp(w.Servers[0], h.resolver, name, 10*time.Second)
					time.Sleep(time.Duration(h.primed) * time.Second)
				}
			}
			seen := observe(f, authority, fmt.Sprintf("c%d.", i)+zone, before)
			t.Logf("%-58s %s", h.name, summary(seen))
			if testing.Verbose() {
				t.Logf("%s, wait and age: %s", h.name, details(seen))
			}
		})
	}
	running.Wait()
}

// holdServers starts everything that stands behind the router.
func (w *world) holdServers() *names {
	w.t.Helper()
	server, resolver := w.Servers[0], *w.Resolver
	extra := []netip.Addr{holdServer}
	for i := range webs {
		extra = append(extra, webAddress(i))
	}
	for _, a := range extra {
		w.address(server, a)
	}
	for _, a := range []netip.Addr{dnsmasqIP, resolvedIP, staleIP, patientIP, minimumIP, worstIP} {
		w.address(resolver, a)
	}
	below := delegation{zone, "ns." + zone, holdServer}
	w.serve(&names{
		self: rootZone, delegations: []delegation{below},
		addresses: fixed(map[string]netip.Addr{"ready.example.": rootAddress}),
	}, server.Namespace, rootAddress)
	authority := w.serve(&names{self: below, addresses: changing()}, server.Namespace, holdServer)
	w.nginx(server, `  server {
    listen 80;
    location / {
      add_header Access-Control-Allow-Origin *;
      default_type text/html;
      return 200 "$server_addr $connection_requests $msec";
    }
  }
`)
	w.unbound(resolver.Namespace, unboundIP, "")
	w.unbound(resolver.Namespace, staleIP, "  serve-expired: yes\n")
	w.unbound(resolver.Namespace, patientIP, "  serve-expired: yes\n  serve-expired-ttl: 86400\n  serve-expired-client-timeout: 1800\n")
	w.unbound(resolver.Namespace, minimumIP, "  cache-min-ttl: 60\n")
	w.unbound(resolver.Namespace, worstIP, "  cache-min-ttl: 60\n  serve-expired: yes\n")
	w.dnsmasq(resolver.Namespace, dnsmasqIP, unboundIP)
	w.resolved(resolver.Namespace, resolvedIP, unboundIP)
	return authority
}

func (w *world) address(node netns.Node, a netip.Addr) {
	w.t.Helper()
	if err := node.Address("eth0", a.String()+"/24"); err != nil {
		w.t.Fatal(err)
	}
}

func webAddress(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, 100, byte(firstWeb + i)}) }

// changing gives a name another address at each question, so that an address
// tells which of them it answered.
func changing() func(string) []netip.Addr {
	order := map[string]int{}
	return func(name string) []netip.Addr {
		order[name]++
		return []netip.Addr{webAddress(order[name] % webs)}
	}
}
