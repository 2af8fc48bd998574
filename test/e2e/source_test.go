package e2e

import (
	"context"
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// sender sends frames from a node's eth0 to a machine on its link.
func (r *realm) sender(from netns.Node, to packets.MAC) func(packets.Packet) {
	r.t.Helper()
	frames, err := from.Frames("eth0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = frames.Close() })
	source, err := from.MAC("eth0")
	if err != nil {
		r.t.Fatal(err)
	}
	return func(p packets.Packet) {
		r.t.Helper()
		if err := frames.Send(p.Between(packets.MAC(source), to).Bytes()); err != nil {
			r.t.Fatal(err)
		}
	}
}

// gatewayMAC is of one of the gateway's interfaces.
func (r *realm) gatewayMAC(name string) packets.MAC {
	r.t.Helper()
	mac, err := r.Gateway.MAC(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return packets.MAC(mac)
}

// field-attacks.md A4 and A9, with real stacks: a host on one port opens nothing in the
// name of another port's, the gateway answers to nobody else in a third's, and nobody
// outside makes it talk to a host.
func TestSpoofedSources(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1, PrivateInterfaces: 2})
	r.webServers()
	d := r.start(r.configuration())
	a, b, c := r.Gateway.Hosts[0], r.Gateway.Hosts[1], r.Clients[0]
	fromA := r.sender(a, r.gatewayMAC(r.Gateway.Private[0]))
	fromOutside := r.sender(c, r.gatewayMAC(r.Gateway.Public[0]))
	victim := netip.AddrPortFrom(b.IP, 8080)
	stranger := netip.MustParseAddr("203.0.113.77")
	ask := func(from, to netip.Addr) packets.Packet {
		return packets.NewUDP(netip.AddrPortFrom(from, 5000), netip.AddrPortFrom(to, 53), "\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x10\x00\x01")
	}
	want := uint64(0)
	for _, attack := range []struct {
		send func(packets.Packet)
		p    packets.Packet
	}{
		{fromA, packets.NewTCP(victim, netip.AddrPortFrom(c.IP, 4444), packets.SYN, "")},
		{fromA, ask(stranger, r.Gateway.PrivateAddress)},
		{fromA, packets.NewEcho(stranger, r.Gateway.PrivateAddress, 7, 1)},
		{fromOutside, ask(a.IP, r.Gateway.PublicAddress)},
		{fromOutside, packets.NewEcho(a.IP, r.Gateway.PublicAddress, 7, 1)},
	} {
		want++
		attack.send(attack.p)
		eventually(t, 5*time.Second, attack.p.String()+" is dropped", func() bool { return d.counted("drop_spoofed_source") == want })
	}
	if s := d.sessions(); len(s) != 0 {
		t.Errorf("they opened %v", s)
	}
	for _, host := range r.Gateway.Hosts {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		connection, err := host.DialContext(ctx, "tcp4", netip.AddrPortFrom(r.Gateway.PrivateAddress, 53).String())
		if err != nil {
			t.Fatalf("%s does not reach the gateway: %v", host.IP, err)
		}
		_ = connection.Close()
	}
}

// field-links.md 5: one packet of a protocol without a name ended `realmgate drops`.
func TestDropsOfEveryProtocol(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	d := r.start(r.configuration())
	host, c := r.Gateway.Hosts[0], r.Clients[0]
	fromHost := r.sender(host, r.gatewayMAC(r.Gateway.Private[0]))
	fromOutside := r.sender(c, r.gatewayMAC(r.Gateway.Public[0]))
	bare := func(from, to netip.Addr, p model.Protocol) packets.Packet {
		return packets.Packet{IPv4: &packets.IPv4{Source: from, Destination: to, Protocol: p, TTL: 64}, Payload: []byte("of another protocol")}
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			fromHost(bare(host.IP, c.IP, 51))
			fromOutside(bare(c.IP, r.Gateway.Pool.Addr(), 47))
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	out, err := d.tell("drops", "-o", "json", "--count", "4")
	close(stop)
	<-done
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var drops []client.Drop
	if err := json.Unmarshal([]byte(out), &drops); err != nil {
		t.Fatal(err)
	}
	seen := map[model.Protocol]bool{}
	for _, drop := range drops {
		seen[drop.Tuple.Protocol] = true
	}
	if !seen[51] || !seen[47] {
		t.Errorf("of AH and GRE %v were seen", seen)
	}
}
