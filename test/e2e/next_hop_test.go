package e2e

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab"
)

// shared is a route over both clients as next hops, 3 flows to 1, behind which each
// answers for itself.
type shared struct {
	*realm
	next int // the last octet of the address that is asked next
}

func newShared(t *testing.T) *shared {
	r := newRealm(t, lab.Options{Hosts: 1, Clients: 2})
	for i, c := range r.Clients {
		r.command(fmt.Sprintf("client%d", i+1), "ip", "route", "add", "local", "203.0.113.0/24", "dev", "lo")
		webServer(t, lab.Node{Namespace: c.Namespace, IP: netip.IPv4Unspecified()}, 80, fmt.Sprint("hop", i+1))
	}
	for key, value := range map[string]string{
		// A neighbour is doubted soon.
		"net/ipv4/neigh/eth0/base_reachable_time_ms": "1000", "net/ipv4/neigh/eth0/delay_first_probe_time": "1",
		"net/ipv4/neigh/eth0/retrans_time_ms": "100",
	} {
		if err := r.Gateway.SetSysctl(key, value); err != nil {
			t.Fatal(err)
		}
	}
	r.command("gateway", "ip", "route", "add", "203.0.113.0/24",
		"nexthop", "via", r.Clients[0].IP.String(), "weight", "3", "nexthop", "via", r.Clients[1].IP.String(), "weight", "1")
	return &shared{realm: r}
}

// ask says which next hops the flows to so many addresses take.
func (s *shared) ask(times int) map[string]int {
	got := map[string]int{}
	for range times {
		s.next = s.next%254 + 1
		to := netip.AddrFrom4([4]byte{203, 0, 113, byte(s.next)})
		for who, n := range pages(s.Hosts()[0], to, 80, 1) {
			got[who] += n
		}
	}
	return got
}

// Flows out share the next hops of a route as the kernel says, and each stays with its own.
// One that fails gets none, open flows leave it, too, and it gets some again when it is back.
func TestFlowsShareNextHops(t *testing.T) {
	s := newShared(t)
	d := s.start(s.configuration())
	if d.remedy("2 next hops share routes") == "" {
		t.Error("status says nothing of failed next hops that get flows")
	}
	if err := s.Gateway.SetSysctl("net/ipv4/fib_multipath_use_neigh", "1"); err != nil {
		t.Fatal(err)
	}
	if said := d.remedy("next hops share routes"); said != "" {
		t.Errorf("status still says %q", said)
	}
	const times = 200 // by chance the lighter has under 10 or above 100 once in a million
	got := s.ask(times)
	if heavy, light := got["hop1\n"], got["hop2\n"]; heavy+light != times || light < 10 || light > 100 {
		t.Errorf("of %d flows: %v", times, got)
	}
	for s.ask(1)["hop2\n"] == 0 {
	}
	to := netip.AddrFrom4([4]byte{203, 0, 113, byte(s.next)})
	for i, c := range s.Clients {
		echoServer(t, lab.Node{Namespace: c.Namespace, IP: to}, 7, fmt.Sprint("hop", i+1))
	}
	talk, err := s.Hosts()[0].DialContext(t.Context(), "udp4", netip.AddrPortFrom(to, 7).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = talk.Close() })
	for n := range 10 {
		if who, err := echoOn(talk); err != nil || who != "hop2" {
			t.Errorf("packet %d of a flow takes %q: %v", n, who, err)
		}
		s.command("gateway", "ip", "route", "add", fmt.Sprintf("192.0.2.%d/32", n), "via", s.Clients[0].IP.String())
	}
	if err := s.Clients[1].Down("eth0"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 60*time.Second, "an open flow leaves the next hop that failed", func() bool {
		who, err := echoOn(talk)
		return err == nil && who == "hop1"
	})
	if got := s.ask(40); got["hop1\n"] != 40 {
		t.Errorf("with one next hop left: %v", got)
	}
	if err := s.Clients[1].Up("eth0"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 60*time.Second, "the next hop gets flows again", func() bool { return s.ask(40)["hop2\n"] > 0 })
}

// Two next hops of IPv6 (RFC 5549) get each its own packets.
func TestNextHopsOfIPv6(t *testing.T) {
	r := newRealm(t, lab.Options{Hosts: 1, Clients: 2, IPv6: true})
	prefixes := []string{"192.0.2.0/24", "203.0.113.0/24"}
	for i, c := range r.Clients {
		name := fmt.Sprintf("client%d", i+1)
		for _, p := range prefixes {
			r.command(name, "ip", "route", "add", "local", p, "dev", "lo")
		}
		webServer(t, lab.Node{Namespace: c.Namespace, IP: netip.IPv4Unspecified()}, 80, fmt.Sprint("hop", i+1))
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
