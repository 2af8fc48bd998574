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

// A host with a public address alone: every program works out by it and in by it, as with the kernel's 1:1 NAT.
func TestOneToOne(t *testing.T) {
	t.Parallel()
	options := defaultOffloads
	options.Hosts, options.Clients, options.Servers = 2, 1, 1
	r := newRealm(t, options)
	alone := r.Gateway.Pool.Addr().Prev() // nobody's
	w := &works{realm: r, host: r.Hosts()[0], client: r.Clients[0], server: r.Servers[0], known: newPeers(t), public: "eth0", private: "eth1"}
	w.serve()
	owned := strings.Replace(r.configuration(), "address: "+w.host.IP.String(), fmt.Sprintf("address: %s\n    one_to_one: %s", w.host.IP, alone), 1)
	d := r.start(owned)
	w.outbound, w.published = alone, func() (netip.Addr, error) { return lent(w.client, r.Gateway, "www."+hostName(0)) }
	w.tryAll("Realmgate")
	comesIn := func(who string) {
		t.Helper()
		if err := w.pages(w.client, alone, 8080); err != nil {
			t.Errorf("%s: in by the address: %v", who, err)
		}
		if err := ping(w.client, alone); err != nil {
			t.Errorf("%s: %v", who, err)
		}
	}
	comesIn("Realmgate")
	if err := w.pages(r.Hosts()[1], alone, 8080); err != nil {
		t.Errorf("from another host inside: %v", err)
	}
	origins := map[string]int{}
	for _, s := range d.sessions() {
		if s.External.Addr() == alone {
			origins[s.Origin]++
		}
	}
	if origins["own"] == 0 || origins["own_in"] == 0 || len(origins) != 2 {
		t.Errorf("sessions of the address are %v", origins)
	}
	// A reload takes the address away: nobody answers there, and the host leaves as everybody does.
	d.write(r.configuration())
	if text, err := d.tell("reload"); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	w.outbound = r.Gateway.Outbound
	if err := curlOut(t.Context(), w, func() {}); err != nil {
		t.Error(err)
	}
	if err := ping(w.client, alone); err == nil {
		t.Errorf("%s is answered for", alone)
	}
	d.stop()

	w.command("gateway", "ip", "address", "add", alone.String()+"/32", "dev", "eth0")
	w.masquerade()
	w.outbound = alone
	w.command("gateway", "nft", "insert", "rule", "ip", "nat", "out", "ip", "saddr", w.host.IP.String(), "oifname", "eth0", "snat", "to", alone.String())
	w.command("gateway", "nft", "insert", "rule", "ip", "nat", "in", "ip", "daddr", alone.String(), "dnat", "to", w.host.IP.String())
	w.tryAll("the kernel's NAT")
	comesIn("the kernel's NAT")
}

// Forged SYNs to a host with an address alone: at twice the rate that fills its share within LED_TICKS hardly any is refused,
// and it is reached 99 times of 100 at least.
func TestForgedSYNsLeaveAOneToOneHostReachable(t *testing.T) {
	const rate, share, tries = 25_000, 125_000, 100
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.webServers()
	alone, host, attacker := r.Gateway.Pool.Addr().Prev(), r.Gateway.Hosts[0], r.Clients[0]
	d := r.start(with(strings.Replace(r.configuration(), "address: "+host.IP.String(), fmt.Sprintf("address: %s\n    one_to_one: %s", host.IP, alone), 1), "capacity: 1000000"))
	frames := r.frames(attacker, r.Gateway.Public[0], 400_000, func(i int) packets.Packet {
		from := netip.AddrFrom4([4]byte{203, byte(i >> 16), byte(i >> 8), byte(i)})
		return packets.NewTCP(netip.AddrPortFrom(from, anyPort()), netip.AddrPortFrom(alone, 8080), packets.SYN, "")
	})
	sent, stop := r.onslaught(attacker, rate, frames)
	defer stop()
	began := time.Now()
	eventually(t, time.Minute, "the flood has filled the share", func() bool { return sent.Load() > 2*share })
	failed := 0
	for range tries {
		if _, err := visitWithin(r.Clients[1], alone, 8080, 8*time.Second); err != nil {
			failed++
		}
	}
	if refused := d.counted("drop_binding_sessions"); failed > tries/100 || refused > uint64(sent.Load())/100 { //nolint:gosec // it only grows
		t.Errorf("%d of %d did not get in, %d were refused", failed, tries, refused)
	}
	t.Logf("%d of %d got in beside %.0f SYNs a second; %d sessions, ended: %v", tries-failed, tries,
		float64(sent.Load())/time.Since(began).Seconds(), d.status().Sessions.Used, d.status().Reasons)
}
