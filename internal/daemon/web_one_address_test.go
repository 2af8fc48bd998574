package daemon

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// webOfOne is a section that has the web at the only address.
const webOfOne = "web: {addresses: [198.18.0.1]}\n"

// calls is how a client's SYN to a web address ends while names are read: the kernel may verify programs for longer than a
// heartbeat lasts.
func (b *rig) calls(syn packets.Packet) (end model.Reason, made []byte) {
	b.t.Helper()
	for range 3 {
		b.must(b.data.WebHeartbeat())
		if end, made = b.inject(true, syn); end != "drop_daemon_away" {
			break
		}
	}
	return end, made
}

// knock wants a SYN of a client to end with a reason.
func (b *rig) knock(from netip.AddrPort, to netip.Addr, port uint16, want model.Reason) {
	b.t.Helper()
	if end, _ := b.calls(packets.NewTCP(from, netip.AddrPortFrom(to, port), packets.SYN, "")); end != want {
		b.t.Errorf("a SYN to %s port %d ended with %s, want %s", to, port, end, want)
	}
}

// at wants names to be answered with a web address.
func (b *rig) at(address netip.Addr, names ...model.Name) {
	b.t.Helper()
	for _, name := range names {
		if entry, _ := b.view.Load().realm.Find(name); entry.Web != address {
			b.t.Errorf("%s is answered %s, want %s", name, entry.Web, address)
		}
	}
}

// The web is at the only address, where two hosts want the same ports: by a reload, over restarts, and back. Other names get
// their ports of it as ever.
func TestWebAtTheOnlyAddress(t *testing.T) {
	t.Parallel()
	hosts := otherHost("b", 101) + "  - {name: hostc.foo.example., address: 10.0.0.103, open: [tcp/5000]}\n"
	r := newRig(t, single+hosts)
	r.routed()
	r.mustAsk(www)
	r.admits(remote, theOne, 80)
	r.must(r.reloadWith(single + hosts + webOfOne))
	web := func(client byte) {
		t.Helper()
		r.at(theOne, www, wwwB)
		r.knock(visitor(client, 4000), theOne, 80, "answered_cookie")
		r.knock(visitor(client, 4000), theOne, 443, "to_gateway") // no name has it
		r.knock(visitor(client, 4000), theOne, 22, "to_gateway")
		r.mustAsk("hostc.foo.example.")
		r.admits(visitor(client, 4001), theOne, 5000)
		if host, mapped := r.mapping("10.0.0.105:80", 80); mapped {
			t.Errorf("port 80 is a mapping's of %s", host)
		}
	}
	web(1)
	if end := r.proves(remote, netip.AddrPortFrom(theOne, 80)); end.IsDrop() {
		t.Errorf("a packet of a session from before ended with %s", end)
	}
	if rivals := r.view.Load().shared().Rivals(); rivals != nil {
		t.Errorf("%q", rivals)
	}
	if r.leadsInside(theOne) {
		t.Error("names that lead to the web are kept from hosts inside")
	}
	for n, kept := range []bool{true, false} {
		r.restart(kept, single+hosts+webOfOne)
		r.must(r.namespace.Do(r.data.Refresh))
		web(byte(2 + n))
	}
}

// A program at a port of the web is named, by who runs and who checks.
func TestWebAndPrograms(t *testing.T) {
	t.Parallel()
	r := newRig(t, single+webOfOne)
	r.routed()
	listener, err := r.namespace.Listen("tcp", "0.0.0.0:80")
	r.must(err)
	defer func() { _ = listener.Close() }()
	r.must(r.namespace.Do(r.readLocalAddresses))
	r.knock(remote, theOne, 80, "answered_cookie")
	const want = ") listens at tcp port 80 of 198.18.0.1, and hears nobody from outside"
	if deaf := r.view.Load().shared().Deaf(&r.machine); len(deaf) != 1 || !strings.Contains(deaf[0], want) {
		t.Errorf("%q", deaf)
	}
	r.must(r.namespace.Do(func() error {
		if warnings := Doubts(t.Context(), document(t, single+webOfOne)).All(); !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("check warns of %q", warnings)
		}
		return nil
	}))
}

// The web is at whatever address the interface has.
func TestWebFollowsTheInterface(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.NewReplacer("[198.18.0.1]", "[eth0]", "public: 198.18.0.1", "public: eth0").Replace(single+webOfOne))
	r.routed()
	r.at(theOne, www)
	r.knock(remote, theOne, 80, "answered_cookie")
	r.takes(netlink.AddrDel, "198.18.0.1/24")
	r.at(netip.Addr{}, www)
	if names := r.view.Load().realm.WebNames("foo.example."); names != nil {
		t.Errorf("without an address secondaries hold %v", names)
	}
	r.knock(remote, theOne, 80, "drop_not_for_us")
	if end := r.arp("198.18.0.1"); end == "answered_arp" {
		t.Error("ARP for the old address is answered")
	}
	r.takes(netlink.AddrAdd, "198.18.9.1/24")
	r.must(r.namespace.Route("default", "198.18.9.254"))
	r.must(r.namespace.Do(r.data.Refresh))
	next := netip.MustParseAddr("198.18.9.1")
	r.at(next, www)
	r.knock(remote, next, 80, "answered_cookie")
	r.knock(remote, theOne, 80, "drop_not_for_us")
	r.restart(true, "")
	r.at(next, www)
	r.knock(visitor(1, 4000), next, 80, "answered_cookie")
}

// What else has a port of the web at the address is told before anything runs.
func TestCheckWebAtTheOnlyAddress(t *testing.T) {
	t.Parallel()
	followed := strings.NewReplacer("[198.18.0.1]", "[eth0]", "public: 198.18.0.1", "public: eth0").Replace(single + webOfOne)
	const outbound = "outbound: {addresses: [198.18.0.1]}\n"
	opens := func(file, ports string) string {
		return strings.Replace(file, "  - name: hosta", "  - {name: hostd.foo.example., address: 10.0.0.104, "+ports+"}\n  - name: hosta", 1)
	}
	for file, want := range map[string]string{
		single + webOfOne: "", single + outbound + webOfOne: "", followed: "",
		opens(single+webOfOne, "open: [tcp/22, udp/443]"):                                                 "",
		opens(single+outbound+webOfOne, "open: [tcp/22, tcp/80]"):                                         "hosts: hostd.foo.example. opens tcp/22, tcp/80, and the pool has no address for that: tcp port 80 of 198.18.0.1 is where names of the web are read",
		opens(followed, "open: [tcp/22, tcp/80]"):                                                         "tcp port 80 of eth0 is where names of the web are read",
		opens(single+outbound+webOfOne, "services: [{name: x.foo.example., ports: [tcp/53], web: true}]"): "web.addresses: names of the web are read at tcp port 53, where the name server listens",
		opens(followed, "services: [{name: x.foo.example., ports: [tcp/53], web: true}]"):                 "web.addresses: names of the web are read at tcp port 53, where the name server listens",
		single + outbound + webOfOne + "chains: [{name: a, match: {direction: in, to: 198.18.0.1, protocol: tcp, port: 80}, functions: [{use: dnat, to: 10.0.0.9}]}]": "web.addresses: names of the web are read at tcp port 80 of 198.18.0.1, which dnat sends on",
	} {
		err := Check(document(t, file))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s\n%v, want %q", file, err, want)
		}
	}
	for other, want := range map[string]string{
		text + webOfOne: "web.addresses: 198.18.0.1 is of dns.public, too",
		text + "web: {addresses: [198.18.0.33]}\n": "web.addresses: 198.18.0.33 is of pool.addresses, too",
	} {
		if _, err := newView(document(t, other), nil, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with no outbound address: %v, want %q", err, want)
		}
	}
}
