package nameserver

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

const testHost = model.Name("hosta.foo.example.")

func newTestAliases(t testing.TB) *aliases {
	t.Helper()
	a, err := newAliases()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Labels came from a random source that outsiders can predict: who knew some
// could make the next. Ours are proofs under a key of each process's own, so no
// other process makes the same for the same question, or opens it.
func TestDefect6_LabelsCannotBeForeseen(t *testing.T) {
	seen, now := map[model.Name]bool{}, model.Instant(5*second)
	for range 100 {
		a, forger := newTestAliases(t), newTestAliases(t)
		alias, _ := a.make(now, testZone, testHost, asker.Addr())
		forged, _ := forger.make(now, testZone, testHost, asker.Addr())
		if _, ok := a.open(now, testZone, alias, asker.Addr()); !ok {
			t.Fatalf("%s does not open where it was made", alias)
		}
		if _, ok := a.open(now, testZone, forged, asker.Addr()); ok || seen[alias] || seen[forged] {
			t.Fatalf("%s was foreseen by %s", alias, forged)
		}
		seen[alias], seen[forged] = true, true
	}
}

func TestAlias(t *testing.T) {
	a, now := newTestAliases(t), model.Instant(5*time.Second+time.Second/2)
	alias, ok := a.make(now, testZone, testHost, asker.Addr())
	label, _ := strings.CutSuffix(string(alias), ".foo.example.")
	if parsed, err := model.ParseName(string(alias)); !ok || err != nil || parsed != alias || len(label) != aliasLabel || strings.Contains(label, ".") {
		t.Fatalf("made %q, %v, %v", alias, ok, err)
	}
	other := netip.MustParseAddr("198.51.100.8")
	for _, test := range []struct {
		about string
		after time.Duration
		zone  model.Name
		alias model.Name
		asker netip.Addr
		ok    bool
	}{
		{"at once", 0, testZone, alias, asker.Addr(), true},
		{"as IPv4 in IPv6", 0, testZone, alias, netip.AddrFrom16(asker.Addr().As16()), true},
		{"in its last second", 10 * time.Second, testZone, alias, asker.Addr(), true},
		{"too late", 11 * time.Second, testZone, alias, asker.Addr(), false},
		{"much too late", 1e6 * time.Second, testZone, alias, asker.Addr(), false},
		{"before it was made", -time.Second, testZone, alias, asker.Addr(), false},
		{"by another", 0, testZone, alias, other, false},
		{"in another zone", 0, "child.foo.example.", model.Name(label) + ".child.foo.example.", asker.Addr(), false},
		{"below the zone's child", 0, testZone, model.Name(label) + ".x.foo.example.", asker.Addr(), false},
		{"below itself", 0, testZone, "a." + alias, asker.Addr(), false},
		{"one character less", 0, testZone, alias[1:], asker.Addr(), false},
		{"one more", 0, testZone, "0" + alias, asker.Addr(), false},
		{"characters it cannot have", 0, testZone, "z" + alias[1:], asker.Addr(), false},
		{"the zone", 0, testZone, testZone, asker.Addr(), false},
		{"no name", 0, testZone, "", asker.Addr(), false},
	} {
		t.Run(test.about, func(t *testing.T) {
			host, ok := a.open(now.Add(test.after), test.zone, test.alias, test.asker)
			if ok != test.ok || ok && host != testHost {
				t.Errorf("%q, %v", host, ok)
			}
		})
	}
	if host, ok := newTestAliases(t).open(now, testZone, alias, asker.Addr()); ok {
		t.Errorf("another process takes it for %s", host)
	}
	// No character may be changed, not even in the three bits left over.
	for i := range label {
		for _, c := range "0123456789abcdefghijklmnopqrstuv" {
			changed := label[:i] + string(c) + label[i+1:]
			if _, ok := a.open(now, testZone, model.Name(changed)+"."+testZone, asker.Addr()); ok != (changed == label) {
				t.Errorf("%s, changed to %s: %v", label, changed, ok)
			}
		}
	}
}

func TestAliasesOfDifferentHosts(t *testing.T) {
	a := newTestAliases(t)
	one, _ := a.make(0, testZone, "one.foo.example.", asker.Addr())
	for i := range aliasNames - 1 {
		if _, ok := a.make(0, testZone, model.Name(fmt.Sprintf("h%d.foo.example.", i)), asker.Addr()); !ok {
			t.Fatal("no alias")
		}
	}
	if host, ok := a.open(0, testZone, one, asker.Addr()); !ok || host != "one.foo.example." {
		t.Errorf("the first of a full table: %q, %v", host, ok)
	}
	a.make(0, testZone, "two.foo.example.", asker.Addr())
	if host, ok := a.open(0, testZone, one, asker.Addr()); ok {
		t.Errorf("the one that made room is %s", host)
	}
	if a.numbers.Len() != aliasNames || len(a.names) != aliasNames {
		t.Errorf("%d numbers, %d names", a.numbers.Len(), len(a.names))
	}
}

func TestAliasNeedsRoomInItsName(t *testing.T) {
	a := newTestAliases(t)
	for length, want := range map[int]bool{213: true, 214: true, 215: false, 250: false} { // with the final dot
		zone := model.Name(strings.Repeat("z.", length/2))
		if length%2 == 1 {
			zone = "z" + zone
		}
		alias, ok := a.make(0, zone, "h."+zone, asker.Addr())
		if ok != want {
			t.Errorf("zone of %d characters: %v", length, ok)
		}
		if _, err := model.ParseName(string(alias)); ok && err != nil {
			t.Error(err)
		}
	}
}

// proven makes the test's asker one that minimises, over TCP.
func proven(t testing.TB, server *Public) {
	t.Helper()
	for range detectorProof {
		for _, name := range []string{"hosta.foo.example.", "www.hosta.foo.example."} {
			if reply := unpacked(t, through(server, packed(t, request(name, dns.TypeA)), TCP)); len(reply.Answer) != 1 {
				t.Fatalf("%s: %v", name, reply)
			}
		}
	}
}

// aliasOf asks for the host and returns the alias it gets.
func aliasOf(t testing.TB, server *Public, name string) string {
	t.Helper()
	reply := unpacked(t, through(server, packed(t, request(name, dns.TypeA)), TCP))
	if len(reply.Answer) != 1 || reply.Rcode != 0 || !reply.Authoritative {
		t.Fatalf("%s: %v", name, reply)
	}
	record, ok := reply.Answer[0].(*dns.CNAME)
	if !ok || record.Hdr.Name != name || record.Hdr.Ttl != 0 {
		t.Fatalf("%s: %v", name, reply)
	}
	return record.Target
}

func TestMinimiserGetsAliases(t *testing.T) {
	now := model.Instant(time.Hour)
	server, allocator := newPublic(t, func(o *PublicOptions) { o.Now = func() model.Instant { return now } })
	proven(t, server)
	before := len(allocator.questions())
	alias := aliasOf(t, server, "HOSTa.foo.example.")
	if len(allocator.questions()) != before {
		t.Fatal("the alias took an address")
	}
	if s := server.Statistics(); s.Aliased != 1 {
		t.Errorf("counters %+v", s)
	}
	mixed := strings.ToUpper(alias[:20]) + alias[20:]
	pool, negative := fmt.Sprintf(soaText, 0), fmt.Sprintf(soaText, negativeTTL)
	other := netip.MustParseAddrPort("198.51.100.8:4242")
	for _, test := range []struct {
		about, name string
		qtype       uint16
		transport   Transport
		from        netip.AddrPort
		rcode       int
		answer      []string
		authority   []string
		allocates   model.Name
	}{
		{"over UDP", alias, dns.TypeA, UDP, asker, 0, nil, nil, ""},
		{"over TCP", alias, dns.TypeA, TCP, asker, 0, []string{alias + " 0 IN A 198.18.0.33"}, nil, testHost},
		{"0x20", mixed, dns.TypeA, TCP, asker, 0, []string{mixed + " 0 IN A 198.18.0.33"}, nil, testHost},
		{"AAAA", alias, dns.TypeAAAA, TCP, asker, 0, nil, []string{pool}, ""},
		{"ANY", alias, dns.TypeANY, TCP, asker, 0, nil, []string{pool}, ""},
		{"somebody else", alias, dns.TypeA, TCP, other, dns.RcodeNameError, nil, []string{negative}, ""},
		{"somebody else's AAAA", alias, dns.TypeAAAA, TCP, other, dns.RcodeNameError, nil, []string{negative}, ""},
		{"below it", "a." + alias, dns.TypeA, TCP, asker, dns.RcodeNameError, nil, []string{negative}, ""},
		{"somebody else's host", "hosta.foo.example.", dns.TypeA, TCP, other, 0, []string{"hosta.foo.example. 0 IN A 198.18.0.33"}, nil, testHost},
		{"the service", "www.hosta.foo.example.", dns.TypeA, TCP, asker, 0, []string{"www.hosta.foo.example. 0 IN A 198.18.0.33"}, nil, "www.hosta.foo.example."},
		{"a name without names below", "x.child.foo.example.", dns.TypeA, TCP, asker, 0, []string{"x.child.foo.example. 0 IN A 198.18.0.33"}, nil, "x.child.foo.example."},
		{"the host's AAAA", "hosta.foo.example.", dns.TypeAAAA, TCP, asker, 0, nil, []string{pool}, ""},
	} {
		t.Run(test.about, func(t *testing.T) {
			before := len(allocator.questions())
			reply := unpacked(t, throughFrom(server, packed(t, request(test.name, test.qtype)), test.transport, test.from))
			if reply.Rcode != test.rcode || !slices.Equal(texts(reply.Answer), test.answer) || !slices.Equal(texts(reply.Ns), test.authority) || !reply.Authoritative {
				t.Errorf("got %v", reply)
			}
			if reply.Truncated != (test.transport == UDP) {
				t.Errorf("TC is %v", reply.Truncated)
			}
			var names []model.Name
			for _, question := range allocator.questions()[before:] {
				names = append(names, question.Name)
			}
			if test.allocates == "" && names != nil || test.allocates != "" && !slices.Equal(names, []model.Name{test.allocates}) {
				t.Errorf("lent for %v", names)
			}
		})
	}
	now = now.Add((aliasLife + 1) * time.Second)
	if reply := unpacked(t, through(server, packed(t, request(alias, dns.TypeA)), TCP)); reply.Rcode != dns.RcodeNameError {
		t.Errorf("an old alias: %v", reply)
	}
}

func TestAliasAfterAReload(t *testing.T) {
	now := model.Instant(0)
	server, allocator := newPublic(t, func(o *PublicOptions) { o.Now = func() model.Instant { return now } })
	proven(t, server)
	alias := packed(t, request(aliasOf(t, server, "hosta.foo.example."), dns.TypeA))
	if err := server.Reconfigure(publicOptions(allocator)); err != nil {
		t.Fatal(err)
	}
	if reply := unpacked(t, through(server, alias, TCP)); len(reply.Answer) != 1 {
		t.Errorf("the same names: %v", reply)
	}
	for about, entry := range map[string]testDirectory{
		"the host is gone":       {"www.hosta.foo.example.": {Ports: everything}},
		"the host opens nothing": {testHost: {}},
	} {
		options := publicOptions(allocator)
		options.Directory = func() Directory { return entry }
		if err := server.Reconfigure(options); err != nil {
			t.Fatal(err)
		}
		if reply := unpacked(t, through(server, alias, TCP)); reply.Rcode != dns.RcodeNameError {
			t.Errorf("%s: %v", about, reply)
		}
	}
}

// Without verification an alias does not fit over UDP, so it goes over TCP, and
// its own address fits.
func TestAliasWithoutVerification(t *testing.T) {
	server, allocator := newPublic(t, func(o *PublicOptions) {
		o.Verify = VerifyNone
		o.Now = func() model.Instant { return 0 }
	})
	proven(t, server)
	before := len(allocator.questions())
	if reply := unpacked(t, through(server, packed(t, request("hosta.foo.example.", dns.TypeA)), UDP)); !reply.Truncated || len(reply.Answer) != 0 {
		t.Errorf("host over UDP: %v", reply)
	}
	alias := aliasOf(t, server, "hosta.foo.example.")
	if len(allocator.questions()) != before {
		t.Error("the alias took an address")
	}
	if reply := unpacked(t, through(server, packed(t, request(alias, dns.TypeA)), UDP)); len(reply.Answer) != 1 {
		t.Errorf("alias over UDP: %v", reply)
	}
}
