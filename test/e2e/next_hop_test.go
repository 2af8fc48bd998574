package e2e

import (
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// shared is a route over both clients as next hops, 3 flows to 1, behind which each
// answers for itself.
type shared struct {
	*realm
	next int // the last octet of the address that is asked next
}

// newShared has the route in the table, and a rule that leads there.
func newShared(t *testing.T, links int, table string) *shared {
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2, PublicInterfaces: links})
	route := []string{"ip", "route", "add", "203.0.113.0/24", "table", table}
	for i, c := range r.Clients {
		r.command(fmt.Sprintf("client%d", i+1), "ip", "route", "add", "local", "203.0.113.0/24", "dev", "lo")
		webServer(t, netns.Node{Namespace: c.Namespace, IP: netip.IPv4Unspecified()}, 80, fmt.Sprint("hop", i+1))
		route = append(route, "nexthop", "via", c.IP.String(), "weight", fmt.Sprint(3-2*i))
	}
	for _, link := range r.Gateway.Public { // a neighbour is doubted soon
		for key, value := range map[string]string{"base_reachable_time_ms": "1000", "delay_first_probe_time": "1", "retrans_time_ms": "100"} {
			if err := r.Gateway.SetSysctl("net/ipv4/neigh/"+link+"/"+key, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.command("gateway", route...)
	r.command("gateway", "ip", "rule", "add", "to", "203.0.113.0/24", "table", table)
	return &shared{realm: r}
}

// ask says which next hops the flows to so many addresses take.
func (s *shared) ask(times int) map[string]int {
	got := map[string]int{}
	for range times {
		s.next = s.next%254 + 1
		for who, n := range pages(s.Hosts()[0], s.address(), 80, 1) {
			got[who] += n
		}
	}
	return got
}

// address is the one that was asked last.
func (s *shared) address() netip.Addr { return netip.AddrFrom4([4]byte{203, 0, 113, byte(s.next)}) }

// Flows out share the next hops of a route as the kernel says, and each stays with its own.
// One that fails gets none, open flows leave it, too, and it gets some again when it is back.
// A neighbour that is set for good stays so.
func TestFlowsShareNextHops(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		links int
		table string
	}{"of one link": {1, "main"}, "of two links, by a rule": {2, "100"}} {
		t.Run(name, func(t *testing.T) { share(t, newShared(t, c.links, c.table)) })
	}
}

func share(t *testing.T, s *shared) {
	mac, err := s.Clients[0].MAC("eth0")
	if err != nil {
		t.Fatal(err)
	}
	fixed := s.Clients[0].IP.String()
	s.command("gateway", "ip", "neigh", "replace", fixed, "lladdr", mac.String(), "dev", "eth0", "nud", "permanent")
	d := s.start(s.configuration())
	if d.warning("2 next hops share routes") == "" {
		t.Error("status says nothing of failed next hops that get flows")
	}
	if err := s.Gateway.SetSysctl("net/ipv4/fib_multipath_use_neigh", "1"); err != nil {
		t.Fatal(err)
	}
	if said := d.warning("next hops share routes"); said != "" {
		t.Errorf("status still says %q", said)
	}
	const times = 200 // by chance the lighter has under 10 or above 100 once in a million
	got := s.ask(times)
	if heavy, light := got["hop1\n"], got["hop2\n"]; heavy+light != times || light < 10 || light > 100 {
		t.Fatalf("of %d flows: %v", times, got)
	}
	for asked := 0; s.ask(1)["hop2\n"] == 0; asked++ {
		if asked == times {
			t.Fatalf("of %d flows more none takes the lighter next hop", times)
		}
	}
	talk := s.talkTo(t, s.address())
	for n := range 10 {
		if who, err := talk(); err != nil || who != "hop2" {
			t.Errorf("packet %d of a flow takes %q: %v", n, who, err)
		}
		s.command("gateway", "ip", "route", "add", fmt.Sprintf("192.0.2.%d/32", n), "via", fixed)
	}
	if err := s.Clients[1].Down("eth0"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 60*time.Second, "an open flow leaves the next hop that failed", func() bool {
		who, err := talk()
		return err == nil && who == "hop1"
	})
	if got := s.ask(40); got["hop1\n"] != 40 {
		t.Errorf("with one next hop left: %v", got)
	}
	router := s.Clients[1].IP.As4()
	router[3] = 254
	if err := errors.Join(s.Clients[1].Up("eth0"), s.Clients[1].Route("default", netip.AddrFrom4(router).String())); err != nil {
		t.Fatal(err)
	}
	eventually(t, 60*time.Second, "the next hop gets flows again", func() bool { return s.ask(40)["hop2\n"] > 0 })
	known, err := exec.Command("ip", "-n", s.ID()+"-gateway", "neigh", "show", fixed).CombinedOutput() //nolint:gosec // a test's own words
	if err != nil || !strings.Contains(string(known), "PERMANENT") {
		t.Errorf("what was set for good is now: %s, %v", known, err)
	}
}

// talkTo begins a conversation with both clients by an address, and returns what tells
// which of them answers.
func (s *shared) talkTo(t *testing.T, address netip.Addr) func() (string, error) {
	for i, c := range s.Clients {
		echoServer(t, netns.Node{Namespace: c.Namespace, IP: address}, 7, fmt.Sprint("hop", i+1))
	}
	connection, err := s.Hosts()[0].DialContext(t.Context(), "udp4", netip.AddrPortFrom(address, 7).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return func() (string, error) { return echoOn(connection) }
}

// A next hop to which no packet ever goes is down while nobody has its address, and up when somebody has.
func TestIdleNextHopIsBack(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	hop := r.Clients[0].IP.As4()
	hop[3] = 77 // nobody speaks by that
	router := netip.AddrFrom4(hop).String()
	if err := r.Gateway.SetSysctl("net/ipv4/neigh/"+r.Gateway.Public[0]+"/base_reachable_time_ms", "1000"); err != nil { // it is doubted soon
		t.Fatal(err)
	}
	r.command("gateway", "ip", "route", "add", "203.0.113.0/24", "via", router)
	d := r.start(r.configuration() + readable)
	up := func(want float64) func() bool {
		return func() bool {
			got, known := d.scrape()[`realmgate_nexthop_up{gateway="`+router+`"}`]
			return known && got == want
		}
	}
	eventually(t, 60*time.Second, "the next hop is down", up(0))
	r.command("client1", "ip", "address", "add", router+"/32", "dev", "eth0")
	eventually(t, 60*time.Second, "the next hop is up", up(1))
}

// Two next hops of IPv6 (RFC 5549) get each its own packets.
func TestNextHopsOfIPv6(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2, IPv6: true})
	prefixes := []string{"192.0.2.0/24", "203.0.113.0/24"}
	for i, c := range r.Clients {
		name := fmt.Sprintf("client%d", i+1)
		for _, p := range prefixes {
			r.command(name, "ip", "route", "add", "local", p, "dev", "lo")
		}
		webServer(t, netns.Node{Namespace: c.Namespace, IP: netip.IPv4Unspecified()}, 80, fmt.Sprint("hop", i+1))
		mac, err := c.MAC("eth0")
		if err != nil {
			t.Fatal(err)
		}
		hop := fmt.Sprintf("fe80::%02x%02x:%02xff:fe%02x:%02x%02x", mac[0]^2, mac[1], mac[2], mac[3], mac[4], mac[5])
		r.command("gateway", "ip", "route", "add", prefixes[i], "via", "inet6", hop, "dev", "eth0")
	}
	r.start(r.configuration())
	for range 10 {
		for i, to := range []string{"192.0.2.1", "203.0.113.1"} {
			if got := pages(r.Hosts()[0], netip.MustParseAddr(to), 80, 1); got[fmt.Sprintf("hop%d\n", i+1)] != 1 {
				t.Errorf("a flow for next hop %d: %v", i+1, got)
			}
		}
	}
}
