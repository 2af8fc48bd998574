package daemon

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// single has one public address, of the gateway's interface, for everything.
var single = strings.NewReplacer("pool: {", lasting, "198.18.0.32/28", "198.18.0.1").Replace(text)

var theOne = netip.MustParseAddr("198.18.0.1")

// says wants the status to say something.
func (b *rig) says(words string) {
	b.t.Helper()
	var status api.Status
	b.must(b.namespace.Do(func() (err error) { status, err = b.Status(); return err }))
	if !slices.ContainsFunc(status.Warnings, func(r string) bool { return strings.Contains(r, words) }) {
		b.t.Errorf("the status does not say %q: %q", words, status.Warnings)
	}
}

// mapping has a host inside go out by TCP, and says which host has a port of the address then.
func (b *rig) mapping(from string, port uint16) (netip.AddrPort, bool) {
	b.t.Helper()
	if end := b.send(false, packets.NewTCP(netip.MustParseAddrPort(from), netip.MustParseAddrPort("203.0.113.10:80"), packets.SYN, "")); end.IsDrop() {
		b.t.Fatalf("a SYN from %s ended with %s", from, end)
	}
	host, mapped, err := b.data.MappedTo(model.TCP, netip.AddrPortFrom(theOne, port))
	b.must(err)
	return host, mapped
}

// The only address is lent by ports; a second host's same port is refused, and the status says why. A killed daemon and
// one that ended leave each service its port.
func TestOneAddressIsLentByPorts(t *testing.T) {
	t.Parallel()
	r := newRig(t, single+otherHost("b", 101)+"  - {name: hostc.foo.example., address: 10.0.0.103, open: [tcp/5000]}\n")
	r.routed()
	if lent := r.mustAsk(www); lent != theOne {
		t.Fatalf("%s is lent", lent)
	}
	r.mustAsk("hostc.foo.example.")
	r.admits(remote, theOne, 80)
	r.admits(visitor(1, 4000), theOne, 5000)
	r.refuses(visitor(2, 4000), theOne, 80, "drop_no_reservation")
	if address, err := r.ask(wwwB); !errors.Is(err, nameserver.ErrExhausted) {
		t.Errorf("%s, %v", address, err)
	}
	r.says("www.hosta.foo.example. and www.hostb.foo.example. both want the web's ports")
	for _, port := range []uint16{80, 5000} {
		if host, mapped := r.mapping(netip.AddrPortFrom(netip.MustParseAddr("10.0.0.100"), port).String(), port); mapped {
			t.Errorf("port %d is a mapping's of %s", port, host)
		}
	}
	for _, kept := range []bool{true, false} {
		r.restart(kept, "")
		r.must(r.namespace.Do(r.data.Refresh))
		if again := r.mustAsk(www); again != theOne {
			t.Errorf("after a restart it has %s", again)
		}
		r.admits(visitor(3, 4000), theOne, 80)
		if address, err := r.ask(wwwB); !errors.Is(err, nameserver.ErrExhausted) {
			t.Errorf("after a restart %s, %v", address, err)
		}
	}
}

// A reload that gives a service another port: what stands ends or goes on as ever, and for the time of the rest the old
// port is nobody's, also not a mapping's.
func TestOneAddressMovesAPort(t *testing.T) {
	t.Parallel()
	r := newRig(t, single)
	r.routed()
	r.mustAsk(www)
	r.admits(remote, theOne, 80)
	moved := strings.Replace(single, "port: 80,", "port: 5001,", 1)
	r.must(r.reloadWith(moved))
	if end := r.proves(remote, netip.AddrPortFrom(theOne, 80)); end.IsDrop() {
		t.Errorf("a packet of the session ended with %s", end)
	}
	r.mustAsk(www)
	r.admits(visitor(1, 4000), theOne, 5001)
	if end := r.send(true, packets.NewTCP(visitor(1, 4001), netip.AddrPortFrom(theOne, 80), packets.SYN, "")); end != "to_gateway" {
		t.Errorf("a SYN to the old port ended with %s", end)
	}
	for _, port := range []uint16{80, 5001} {
		if host, mapped := r.mapping(netip.AddrPortFrom(netip.MustParseAddr("10.0.0.105"), port).String(), port); mapped {
			t.Errorf("port %d is a mapping's of %s", port, host)
		}
	}
	taken := strings.NewReplacer("hosta", "hostb", "10.0.0.100", "10.0.0.101").Replace(single)
	r.must(r.reloadWith(moved + taken[strings.Index(taken, "  - name"):]))
	if address, err := r.ask(wwwB); !errors.Is(err, nameserver.ErrExhausted) {
		t.Errorf("the old port rests, and another has %s, %v", address, err)
	}
	// The address leaves the pool, which takes no time: what rests is kept from mappings.
	r.must(r.reloadWith(strings.Replace(text, "pool: {", lasting, 1)))
	if host, mapped := r.mapping("10.0.0.106:5001", 5001); mapped {
		t.Errorf("port 5001 rests, and is a mapping's of %s", host)
	}
	r.must(r.reloadWith(single))
	if again := r.mustAsk(www); again != theOne {
		t.Errorf("it has %s", again)
	}
}

// A port by which a host inside goes out already is no service's until that has ended.
func TestOneAddressWaitsForAMapping(t *testing.T) {
	t.Parallel()
	r := newRig(t, single)
	r.routed()
	if host, _ := r.mapping("10.0.0.105:5000", 5000); host.String() != "10.0.0.105:5000" {
		t.Fatalf("the port is of %s", host)
	}
	r.must(r.reloadWith(strings.Replace(single, "port: 80,", "port: 5000,", 1)))
	if address, err := r.ask(www); !errors.Is(err, nameserver.ErrExhausted) {
		t.Fatalf("%s, %v", address, err)
	}
	r.says("www.hosta.foo.example. waits for tcp port 5000 of 198.18.0.1, by which 10.0.0.105 has gone out")
	if _, mapped := r.mapping("10.0.0.105:5000", 5000); !mapped {
		t.Error("what stood has ended")
	}
	_, err := r.data.EndSessions(func(s datapath.Session) bool { return s.Private.Addr().String() == "10.0.0.105" })
	r.must(err)
	r.mustAsk(www)
	r.admits(remote, theOne, 5000)
	if host, mapped := r.mapping("10.0.0.105:5000", 5000); mapped {
		t.Errorf("the port is a mapping's of %s again", host)
	}
}

// Ports at which programs of the gateway listen are theirs: a reload says so, a start goes on without the name, and one
// that comes later is told.
func TestOneAddressAndPrograms(t *testing.T) {
	t.Parallel()
	r := newRig(t, single)
	r.routed()
	listener, err := r.namespace.Listen("tcp", "0.0.0.0:8443")
	r.must(err)
	taken := strings.Replace(single, "port: 80,", "port: 8443,", 1)
	if err := r.reloadWith(taken); err == nil || !strings.Contains(err.Error(), "hosts: www.hosta.foo.example. opens tcp port 8443, where a program of the gateway listens at 198.18.0.1") {
		t.Fatalf("the reload says %v", err)
	}
	r.mustAsk(www) // as before
	r.restart(false, taken)
	r.must(r.namespace.Do(r.data.Refresh))
	if address, err := r.ask(www); !errors.Is(err, nameserver.ErrExhausted) {
		t.Errorf("%s, %v", address, err)
	}
	r.says("www.hosta.foo.example. opens tcp port 8443, where a program of the gateway listens")
	r.must(listener.Close())
	r.must(r.namespace.Do(r.readLocalAddresses))
	r.mustAsk(www)
	r.admits(remote, theOne, 8443)
	listener, err = r.namespace.Listen("tcp", "198.18.0.1:8443")
	r.must(err)
	defer func() { _ = listener.Close() }()
	r.must(r.namespace.Do(r.readLocalAddresses))
	r.says("a program of the gateway listens at tcp port 8443 of 198.18.0.1 and gets what is for www.hosta.foo.example.")
}

// What no outbound address can be lent for is told before anything runs, unless the pool has another address.
func TestCheckOneAddress(t *testing.T) {
	t.Parallel()
	service := "services: [{name: www.hosta.foo.example., protocol: tcp, port: 80, to: 8080}]"
	for file, want := range map[string]string{
		single: "",
		strings.Replace(single, service, "open: all", 1):                                           "hosts: hosta.foo.example. opens all, and the pool has no address for that: everything of 198.18.0.1",
		strings.Replace(single, service, "open: [tcp/22, icmp]", 1):                                "pings of 198.18.0.1, which is outbound, are the gateway's: leave icmp out",
		strings.Replace(single, service, "open: [udp/53]", 1):                                      "udp port 53 of 198.18.0.1 is where the name server listens",
		strings.Replace(single, "8080}]", "8080}]\n    open: [tcp/53]", 1):                         "hosts: hosta.foo.example. opens tcp/53",
		strings.Replace(single, "[198.18.0.1]", "[198.18.0.1, 198.18.0.9]", 1) + "    open: all\n": "",
		strings.Replace(single, "[198.18.0.1]", "[198.18.0.1, 198.18.0.9]", 1) + "outbound: {addresses: [198.18.0.1, 198.18.0.9]}\nchains: [{name: a, match: {direction: in, to: 198.18.0.9, protocol: tcp, port: 80}, functions: [{use: dnat, to: 10.0.0.9}]}, " +
			"{name: b, match: {direction: in, to: 198.18.0.1, protocol: tcp, port: 80}, functions: [{use: dnat, to: 10.0.0.9}]}]": "tcp port 80 of 198.18.0.9 is sent on by dnat",
	} {
		err := Check(document(t, file))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s\n%v, want %q", file, err, want)
		}
	}
	warnings := Doubts(t.Context(), document(t, single+otherHost("b", 101)+otherHost("c", 102))).All()
	if !slices.ContainsFunc(warnings, func(w string) bool {
		return strings.Contains(w, "www.hosta.foo.example. and www.hostb.foo.example. (and 1 more) both want the web's ports")
	}) {
		t.Errorf("the warnings are %q", warnings)
	}
}

// Explain tells whose a port of the address is.
func TestExplainOneAddress(t *testing.T) {
	t.Parallel()
	r := newRig(t, single)
	r.routed()
	r.mustAsk(www)
	ask := func(port uint16) (x api.Explanation) {
		r.must(r.namespace.Do(func() (err error) {
			x, err = r.Explain(api.ExplainRequest{Address: remote.Addr(), ToAddress: theOne, Direction: model.In, Protocol: model.TCP, Port: port})
			return err
		}))
		return x
	}
	said := func(x api.Explanation, step string) string {
		for _, s := range x.Steps {
			if s.Step == step {
				return s.Why
			}
		}
		return ""
	}
	if x := ask(80); !x.Passes || x.Reason != "" || !strings.Contains(said(x, "binding"), "tcp 10.0.0.100:8080, as www.hosta") {
		t.Errorf("%+v", x)
	}
	if x := ask(81); x.Reason != "to_gateway" {
		t.Errorf("%+v", x)
	}
	if host, _ := r.mapping("10.0.0.105:5000", 5000); !host.IsValid() {
		t.Fatal("no mapping")
	}
	if x := ask(5000); !strings.Contains(said(x, "mapping"), "10.0.0.105:5000") {
		t.Errorf("%+v", x)
	}
	for port, step := range map[uint16]string{80: "binding", 5000: "mapping"} {
		if x := ask(port); said(x, step) == "" {
			t.Errorf("port %d: %+v", port, x)
		}
	}
	listener, err := r.namespace.Listen("tcp", "198.18.0.1:80")
	r.must(err)
	defer func() { _ = listener.Close() }()
	r.must(r.namespace.Do(r.readLocalAddresses))
	if x := ask(80); x.Reason != "to_gateway" {
		t.Errorf("with a socket at the port %+v", x)
	}
}

// Names that are in nobody's way are answered to anybody, though two others want one port and somebody keeps that.
func TestOneAddressManyNamesAndRivals(t *testing.T) {
	t.Parallel()
	file := single + otherHost("b", 101) + "  - name: hostc.foo.example.\n    address: 10.0.0.103\n    services:\n"
	for n := range 8 {
		file += fmt.Sprintf("      - {name: s%d.foo.example., ports: [tcp/%d]}\n", n, 5000+n)
	}
	r := newRig(t, file)
	for _, asker := range []netip.AddrPort{remote, visitor(200, 53)} {
		for _, name := range []string{wwwB, www} {
			_, _ = r.askFrom(visitor(9, 53), name)
		}
		for n := range 8 {
			if _, err := r.askFrom(asker, fmt.Sprintf("s%d.foo.example.", n)); err != nil {
				t.Errorf("service %d to %s: %v", n, asker, err)
			}
		}
	}
}
