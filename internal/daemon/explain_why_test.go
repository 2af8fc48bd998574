package daemon

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/explain"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// why is what an explanation says of a step, empty of one that it has not.
func why(x api.Explanation, step string) string {
	for _, s := range x.Steps {
		if s.Step == step {
			return s.Why
		}
	}
	return ""
}

// A backend is chosen by the port that the flow comes from: the one that is told is the one that it was chosen by.
func TestExplainTellsThePortOfMultipath(t *testing.T) {
	t.Parallel()
	r := newRig(t, text+`  - {name: hostb.foo.example., address: 10.0.0.101}
chains:
  - {name: spread, match: {direction: in, to: 198.18.0.3}, functions: [{use: multipath, backends: [{to: 10.0.0.101}]}]}
`)
	r.routed()
	f := explain.Flow{Direction: model.In, Protocol: model.TCP, Source: netip.MustParseAddr("203.0.113.5"), Destination: netip.MustParseAddr("198.18.0.3"), Port: 80}
	for n, want := range []string{
		"it goes to tcp 10.0.0.101:80 when it comes from port 40000; 1 of 1 backends are up",
		"it goes to tcp 10.0.0.101:80 when it comes from port 40001; 1 of 1 backends are up",
	} {
		x, err := r.explain(api.ExplainRequest{Address: f.Source, ToAddress: f.Destination, Protocol: f.Protocol, Port: f.Port})
		if got := why(x, "dnat"); err != nil || got != want {
			t.Errorf("got %q, want %q: %v", got, want, err)
		}
		f.From = somePort + uint16(n)
		if end := r.send(true, f.Packet()); end.IsDrop() {
			t.Fatal(end)
		}
	}
}

// Each step tells the address and the port that the data plane has found.
func TestExplainTellsAddressesAndPorts(t *testing.T) {
	t.Parallel()
	more := strings.Replace(text, "pool: {", "pool: {reservation_timeout: 1m, ", 1)
	r := newRig(t, more+`  - {name: hostb.foo.example., address: 10.0.0.101}
  - {name: own.foo.example., address: 10.0.0.103, one_to_one: 198.18.0.7}
outbound: {addresses: [198.18.0.2], except: [192.0.2.0/26]}
chains:
  - {name: port, match: {direction: in, to: 198.18.0.3, protocol: tcp}, functions: [{use: dnat, to: 10.0.0.101, port: 8080}]}
  - {name: address, match: {direction: in, to: 198.18.0.3}, functions: [{use: dnat, to: 10.0.0.102}]}
  - name: nowhere
    match: {direction: in, to: 198.18.0.2, protocol: tcp, port: 80}
    functions: [{use: jump, name: away, chain: limits, when: [{from: 203.0.113.5}]}, {use: dnat, to: 10.0.0.101}]
  - {name: limits, match: {direction: in, from: 192.0.2.0/24}, functions: [{use: mirror}]}
`)
	r.routed()
	address := netip.MustParseAddr
	route := func(to string, link string, by netip.Addr, mtu int) {
		t.Helper()
		r.must(r.namespace.Do(func() error {
			out, err := net.InterfaceByName(link)
			if err != nil {
				return err
			}
			return netlink.RouteAdd(&netlink.Route{Dst: &net.IPNet{IP: address(to).AsSlice(), Mask: net.CIDRMask(32, 32)}, LinkIndex: out.Index, Gw: by.AsSlice(), MTU: mtu, MTULock: true})
		}))
	}
	route("203.0.113.77", "eth0", address("198.18.0.254"), 1200)
	route("10.0.0.101", "eth1", netip.Addr{}, 1300)
	hostb, stranger, outbound, dnat := address("10.0.0.101"), address("203.0.113.5"), address("198.18.0.2"), address("198.18.0.3")
	if end := r.send(false, packets.NewUDP(netip.AddrPortFrom(hostb, 7000), netip.AddrPortFrom(stranger, 53), "")); end.IsDrop() {
		t.Fatal(end)
	}
	lent := r.mustAsk(www)
	for _, c := range []struct {
		from, to netip.Addr
		protocol model.Protocol
		port     uint16
		step     string
		want     string // empty: there is no such step
	}{
		{stranger, outbound, model.UDP, 7000, "mapping", "it is of udp 10.0.0.101:7000"},
		{stranger, outbound, model.UDP, 7001, "mapping", "no private host has that port"},
		{stranger, dnat, model.UDP, 7000, "mapping", ""},
		{stranger, address("198.18.0.7"), model.UDP, 22, "host", "it is udp 10.0.0.103:22 alone"},
		{stranger, address("198.18.0.7"), model.ICMP, 0, "host", "it is icmp of 10.0.0.103 alone"},
		{stranger, outbound, model.UDP, 22, "host", ""},
		{stranger, lent, model.TCP, 80, "binding", "it is tcp 10.0.0.100:8080, as www.hosta.foo.example."},
		{stranger, lent, model.TCP, 81, "binding", "no service has that port of the address now: ask for a name first"},
		{stranger, dnat, model.TCP, 80, "binding", ""},
		{stranger, dnat, model.TCP, 80, "dnat", "it goes to tcp 10.0.0.101:8080"},
		{stranger, dnat, model.UDP, 53, "dnat", "it goes to udp 10.0.0.102:53"},
		{stranger, dnat, model.ICMP, 0, "dnat", "it goes to icmp of 10.0.0.102"},
		{stranger, outbound, model.TCP, 80, "dnat", "no function says where it goes: names and NAT do"},
		{stranger, lent, model.TCP, 80, "dnat", ""},
		{hostb, stranger, model.UDP, 53, "nat", "it leaves as 198.18.0.2"},
		{address("10.0.0.103"), stranger, model.UDP, 53, "nat", "it leaves as 198.18.0.7"},
		{hostb, address("192.0.2.5"), model.UDP, 53, "nat", "outbound.except has 192.0.2.5: it leaves as it is"},
		{hostb, outbound, model.UDP, 7001, "nat", ""},
		{address("10.0.0.100"), outbound, model.UDP, 7000, "hairpin", "it comes in again, from udp 198.18.0.2:40000"},
		{address("10.0.0.100"), address("203.0.113.77"), model.TCP, 443, "mss", "SYNs of both ends say at most 1160 octets: 1200 are the MTU of the way to 203.0.113.77"},
		{stranger, dnat, model.TCP, 443, "mss", "SYNs of both ends say at most 1260 octets: 1300 are the MTU of the way to 10.0.0.101"},
		{address("10.0.0.100"), stranger, model.TCP, 443, "mss", ""},
	} {
		x, err := r.explain(api.ExplainRequest{Address: c.from, ToAddress: c.to, Protocol: c.protocol, Port: c.port})
		if got := why(x, c.step); err != nil || got != c.want {
			t.Errorf("%s %s to %s port %d: %v: %s is\n%q, want\n%q: %s", c.protocol, c.from, c.to, c.port, err, c.step, got, c.want, said(x))
		}
	}
	mss := func(want string) {
		t.Helper()
		x, err := r.explain(api.ExplainRequest{Address: address("10.0.0.100"), ToAddress: stranger, Protocol: model.TCP, Port: 443})
		if got := why(x, "mss"); err != nil || got != want {
			t.Errorf("%v: mss is\n%q, want\n%q", err, got, want)
		}
	}
	r.must(r.reloadWith(more + "outbound: {addresses: [198.18.0.2]}\nmss: 1000\n"))
	mss("SYNs of both ends say at most 1000 octets, as configured")
	r.must(r.namespace.Do(func() error {
		link, err := netlink.LinkByName("eth1")
		if err != nil {
			return err
		}
		return netlink.LinkSetMTU(link, 700)
	}))
	mss("SYNs of both ends say at most 660 octets: 700 are the MTU of the way to 10.0.0.100")
}
