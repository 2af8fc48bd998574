package diagnose

import (
	"net/netip"
	"strings"
	"testing"
)

func addresses(list ...string) (all []netip.Addr) {
	for _, a := range list {
		all = append(all, netip.MustParseAddr(a))
	}
	return all
}

func set(list ...string) map[netip.Addr]bool {
	all := map[netip.Addr]bool{}
	for _, a := range addresses(list...) {
		all[a] = true
	}
	return all
}

// sound is a setup and a machine that fit.
func sound() (*Setup, *Facts) {
	return &Setup{
			Public: []string{"eth0"}, Private: []string{"eth1"}, Nameserver: netip.MustParseAddr("198.18.0.1"),
			Pool: addresses("198.18.0.32", "198.18.0.33"), Outbound: addresses("198.18.0.2"),
			OneToOne: addresses("198.18.0.7"), Web: addresses("198.18.0.80"),
			Hosts: []Host{{"hosta.foo.example.", netip.MustParseAddr("10.0.0.100")}},
		}, &Facts{
			Interfaces: []Interface{
				{Name: "eth0", Kind: "veth", Index: 2, Up: true, Carrier: true, Ethernet: true, MAC: "02:00:00:00:00:01",
					Prefixes: []netip.Prefix{netip.MustParsePrefix("198.18.0.1/24")}},
				{Name: "eth1", Kind: "device", Index: 3, Up: true, Carrier: true, Ethernet: true, MAC: "02:00:00:00:00:02",
					Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/16")}},
			},
			Own: set("198.18.0.1", "10.0.0.1", "127.0.0.1"), Hops: set("198.18.0.254"), Ways: map[netip.Addr]string{},
		}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	far := netip.MustParseAddr("192.168.55.9")
	for name, c := range map[string]struct {
		change func(*Setup, *Facts)
		want   []string // what each warning contains
	}{
		"all is well": {func(*Setup, *Facts) {}, nil},
		"the router's": {func(s *Setup, _ *Facts) { s.Pool = append(s.Pool, addresses("198.18.0.254")...) },
			[]string{"198.18.0.254 of pool.addresses is the next hop of a route"}},
		"the broadcast address": {func(s *Setup, _ *Facts) { s.Pool = append(s.Pool, addresses("198.18.0.255")...) },
			[]string{"198.18.0.255 of pool.addresses is the broadcast address of 198.18.0.0/24 on eth0"}},
		"the network's": {func(s *Setup, _ *Facts) { s.Outbound = addresses("198.18.0.0") },
			[]string{"198.18.0.0 of outbound.addresses is the network 198.18.0.0/24 on eth0 itself: take it out of outbound.addresses"}},
		"a private network's": {func(s *Setup, _ *Facts) { s.Pool = addresses("10.0.255.255") }, []string{"broadcast address of 10.0.0.0/16 on eth1"}},
		"one_to_one with the router's": {func(s *Setup, _ *Facts) { s.OneToOne = addresses("198.18.0.254") },
			[]string{"198.18.0.254 of hosts[].one_to_one is the next hop of a route, a router's: take it out of hosts[].one_to_one"}},
		"a tunnel at a shared address": {func(_ *Setup, f *Facts) {
			f.Tunnels = []Tunnel{{"sit1", netip.MustParseAddr("198.18.0.2")}, {"gre1", netip.MustParseAddr("198.18.0.1")}}
		}, []string{"tunnel sit1 begins at 198.18.0.2, which hosts share"}},
		"one_to_one with the gateway's own": {func(s *Setup, _ *Facts) { s.OneToOne = addresses("198.18.0.1") },
			[]string{"198.18.0.1 of hosts[].one_to_one stands on an interface of the gateway"}},
		"one_to_one with the broadcast address": {func(s *Setup, _ *Facts) { s.OneToOne = addresses("198.18.0.255") },
			[]string{"198.18.0.255 of hosts[].one_to_one is the broadcast address"}},
		"the web with the gateway's own": {func(s *Setup, _ *Facts) { s.Web = addresses("198.18.0.80", "198.18.0.1") },
			[]string{"198.18.0.1 of web.addresses stands on an interface of the gateway"}},
		"the web with the router's": {func(s *Setup, _ *Facts) { s.Web = addresses("198.18.0.254") },
			[]string{"198.18.0.254 of web.addresses is the next hop of a route"}},
		"the web with a neighbour's": {func(s *Setup, f *Facts) {
			f.InUse = map[netip.Addr]Neighbour{s.Web[0]: {"eth0", "02:00:00:00:00:99"}}
		}, []string{"198.18.0.80 of web.addresses is in use by a neighbour on eth0"}},
		"addresses of a network inside": {func(s *Setup, _ *Facts) {
			s.Pool, s.Outbound, s.OneToOne = addresses("10.0.3.1", "10.0.3.2"), addresses("10.0.3.3"), addresses("10.0.3.4")
		}, []string{
			"10.0.3.1 of pool.addresses (and 1 more) is in the network 10.0.0.0/16 of eth1, which is inside: take it out of pool.addresses",
			"10.0.3.3 of outbound.addresses is in the network", "10.0.3.4 of hosts[].one_to_one is in the network",
		}},
		"of a network outside that is part of one inside": {func(_ *Setup, f *Facts) {
			f.Interfaces[1].Prefixes = append(f.Interfaces[1].Prefixes, netip.MustParsePrefix("198.18.7.1/16"))
		}, nil},
		"a host behind an interface that is missing": {func(s *Setup, f *Facts) {
			s.Private, f.Missing = append(s.Private, "eth2"), []string{"eth2"}
			s.Hosts, f.Ways[far] = append(s.Hosts, Host{"b.foo.example.", far}), "eth0"
		}, nil},
		"of a network of two, both may be used": {func(s *Setup, f *Facts) {
			f.Interfaces[0].Prefixes = []netip.Prefix{netip.MustParsePrefix("198.18.0.32/31")}
		}, nil},
		"of the smaller of two networks": {func(_ *Setup, f *Facts) {
			f.Interfaces[0].Prefixes = append(f.Interfaces[0].Prefixes, netip.MustParsePrefix("198.18.0.46/28"))
		}, []string{"198.18.0.32 of pool.addresses is the network 198.18.0.32/28"}},
		"a pool that is routed here": {func(s *Setup, _ *Facts) { s.Pool = addresses("203.0.113.0", "203.0.113.255") }, nil},
		"its own addresses are told of elsewhere": {func(s *Setup, f *Facts) {
			s.Pool = addresses("198.18.0.255")
			f.Own = set("198.18.0.1", "198.18.0.255")
		}, nil},
		"neighbours": {func(_ *Setup, f *Facts) {
			n := Neighbour{"eth0", "02:00:00:00:00:99"}
			f.InUse = map[netip.Addr]Neighbour{addresses("198.18.0.32")[0]: n, addresses("198.18.0.33")[0]: n}
		}, []string{"198.18.0.32 of pool.addresses (and 1 more) is in use by a neighbour on eth0 (02:00:00:00:00:99 answers"}},
		"each kind has its line": {func(s *Setup, _ *Facts) { s.Pool = addresses("198.18.0.0", "198.18.0.254", "198.18.0.255") },
			[]string{"198.18.0.0 of", "198.18.0.254 of", "198.18.0.255 of"}},
		"no way to a host": {func(s *Setup, f *Facts) {
			s.Hosts, f.Ways[far] = append(s.Hosts, Host{"lost.foo.example.", far}), ""
		}, []string{"host lost.foo.example.: 192.168.55.9 is in no network of a private interface, nor has it a route by one (packets go nowhere)"}},
		"a host is outside": {func(s *Setup, f *Facts) {
			s.Hosts, f.Ways[far] = append(s.Hosts, Host{"lost.foo.example.", far}), "eth0"
		}, []string{"packets go by eth0"}},
		"a host behind a router inside": {func(s *Setup, f *Facts) {
			s.Hosts, f.Ways[far] = append(s.Hosts, Host{"b.foo.example.", far}), "eth1"
		}, nil},
		"of too many hosts nothing is known": {func(s *Setup, _ *Facts) { s.Hosts = append(s.Hosts, Host{"b.foo.example.", far}) }, nil},
		"an interface is down":               {func(_ *Setup, f *Facts) { f.Interfaces[1].Up = false }, []string{"interface eth1 is down: ip link set eth1 up"}},
		"an interface of another kind":       {func(_ *Setup, f *Facts) { f.Interfaces[0].Ethernet = false }, []string{"interface eth0 is neither Ethernet nor a tunnel"}},
		"a port of a bridge": {func(_ *Setup, f *Facts) { f.Interfaces[1].Master = "br0" },
			[]string{"interface eth1 is a port of br0, which has its packets and the addresses: list br0 instead"}},
		"a tunnel": {func(_ *Setup, f *Facts) { f.Interfaces[0].Ethernet, f.Interfaces[0].Bare = false, true }, nil},
		"the name server's address is not here": {func(s *Setup, _ *Facts) { s.Nameserver = netip.MustParseAddr("198.18.0.99") },
			[]string{"dns.public: 198.18.0.99 is on no interface"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, f := sound()
			c.change(s, f)
			got := s.Compare(f)
			if len(got) != len(c.want) {
				t.Fatalf("%q, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("%q does not say %q", got[i], want)
				}
			}
		})
	}
}

func TestDoubts(t *testing.T) {
	t.Parallel()
	s, _ := sound()
	if got := s.Doubts(); len(got) > 0 {
		t.Errorf("%q", got)
	}
	s.ForwardIPv6 = true
	if got := s.Doubts(); len(got) != 1 || !strings.Contains(got[0], "global IPv6 address") {
		t.Errorf("%q", got)
	}
}

func TestVanished(t *testing.T) {
	t.Parallel()
	if got := Vanished([]string{"eth8"}); len(got) != 1 || !strings.Contains(got[0], "interface eth8 has vanished") {
		t.Errorf("%q", got)
	}
}

// A name that no interface has is told of wherever it stands, and what is there is compared all the same.
func TestMissing(t *testing.T) {
	t.Parallel()
	s, f := sound()
	if got := s.Missing(f); len(got) > 0 || !s.IsHere(f) {
		t.Errorf("%q", got)
	}
	s.Private, s.Followed = append(s.Private, "nosuch"), []string{"eth0", "nowhere"}
	f.Missing = []string{"nosuch", "nowhere"}
	want := []string{"interfaces.private: interface nosuch is not on this machine", "outbound.addresses: interface nowhere is not on this machine"}
	got := s.Missing(f)
	if len(got) != len(want) || !strings.HasPrefix(got[0], want[0]) || !strings.HasPrefix(got[1], want[1]) || !s.IsHere(f) {
		t.Errorf("%q, want %q", got, want)
	}
	f.Missing = []string{"eth1", "nosuch", "nowhere"} // eth0 alone is on many machines
	if got := s.Missing(f); len(got) != 3 || s.IsHere(f) {
		t.Errorf("%q with nothing inside", got)
	}
	if f.Interfaces = nil; len(s.Missing(f)) > 0 {
		t.Error("it is told on another machine")
	}
}
