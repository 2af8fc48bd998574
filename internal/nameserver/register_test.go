package nameserver

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// fakeRegistrar takes hosts of 10.0.9.0/24.
type fakeRegistrar struct {
	names  map[model.Name]Registration
	signed uint64
	kept   error
	slow   chan struct{} // nil: the disk takes things at once
}

func (f *fakeRegistrar) Registers(zone, key model.Name) bool {
	return zone == "foo.example." && key == "update.key."
}
func (f *fakeRegistrar) Registration(_, _, name model.Name) Registration {
	return f.names[name]
}
func (f *fakeRegistrar) Signed(model.Name) uint64 { return f.signed }
func (f *fakeRegistrar) Register(_, _ model.Name, changes map[model.Name]Registration, signed uint64) error {
	for _, r := range changes {
		if r.Address.IsValid() && !netip.MustParsePrefix("10.0.9.0/24").Contains(r.Address) {
			return errors.New("foreign")
		}
	}
	if f.slow != nil {
		<-f.slow
	}
	if f.kept != nil {
		return f.kept
	}
	maps.Copy(f.names, changes)
	maps.DeleteFunc(f.names, func(_ model.Name, r Registration) bool { return r.Empty() })
	f.signed = signed
	return nil
}

// state is all that is registered.
func (f *fakeRegistrar) state() string {
	var list []string
	for name, r := range f.names {
		list = append(list, name.String()+" "+r.Address.String()+" "+strings.Join(r.Clients, ","))
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}

// directory has what is registered beside the realm.
type registeredDirectory struct {
	Directory
	*fakeRegistrar
}

func (d registeredDirectory) Find(name model.Name) (Entry, bool) {
	if r := d.names[name]; r.Address.IsValid() {
		return Entry{Address: r.Address}, true
	}
	return d.Directory.Find(name)
}

func (d registeredDirectory) Exists(name model.Name) bool {
	return d.names[name].Address.IsValid() || d.Directory.Exists(name)
}

func newRegistering(t testing.TB, registered ...string) (*Private, *fakeRegistrar) {
	t.Helper()
	f := &fakeRegistrar{names: map[model.Name]Registration{}}
	for _, text := range registered {
		words := strings.Fields(text)
		r := Registration{Clients: words[2:]}
		r.Address, _ = netip.ParseAddr(words[1])
		f.names[model.Name(words[0])] = r
	}
	key := func(name model.Name) Key {
		k, err := NewKey(name, "hmac-sha256", testSecret)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	return newPrivate(t, func(o *PrivateOptions) {
		o.Keys, o.Registrar = []Key{key("update.key."), key("copy.key.")}, f
		before := o.Directory
		o.Directory = func() Directory { return registeredDirectory{before(), f} }
	}), f
}

// signedUpdate is an update that change fills.
func signedUpdate(t testing.TB, key, secret string, at time.Time, change func(*dns.Msg)) []byte {
	t.Helper()
	m := new(dns.Msg).SetUpdate("foo.example.")
	change(m)
	m.SetTsig(key, dns.HmacSHA256, 300, at.Unix())
	wire, _, err := dns.TsigGenerate(m, secret, "", false)
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

const (
	one = "AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA="
	two = "AAEBOSD+XR3Os/0LozeXVqcNc7FwCfQdWL3b/NaiUDlW2No="
)

func TestUpdatesOfHosts(t *testing.T) {
	const laptop = "laptop.foo.example. 10.0.9.5 " + one
	used := func(change func(m *dns.Msg)) func(*dns.Msg) {
		return func(m *dns.Msg) {
			m.NameUsed(rrs(t, "laptop.foo.example. 0 IN A 10.0.9.5"))
			m.Used(rrs(t, "laptop.foo.example. 0 IN DHCID "+one))
			change(m)
		}
	}
	for _, c := range []struct {
		about, key string
		before     []string
		change     func(*dns.Msg)
		rcode      int
		after      string // "-": as before
	}{
		{"a host", "update.key.", nil, insert(t, "laptop.foo.example. 60 IN A 10.0.9.5"), 0, "laptop.foo.example. 10.0.9.5 "},
		{"with an identifier, where the name is free", "update.key.", nil, func(m *dns.Msg) {
			m.NameNotUsed(rrs(t, "laptop.foo.example. 0 IN A 10.0.9.5"))
			insert(t, "laptop.foo.example. 60 IN A 10.0.9.5", "laptop.foo.example. 60 IN DHCID "+one)(m)
		}, 0, laptop},
		{"where it is not", "update.key.", []string{laptop}, func(m *dns.Msg) {
			m.NameNotUsed(rrs(t, "laptop.foo.example. 0 IN A 10.0.9.6"))
			insert(t, "laptop.foo.example. 60 IN A 10.0.9.6")(m)
		}, dns.RcodeYXDomain, "-"},
		{"its client moves it", "update.key.", []string{laptop}, used(func(m *dns.Msg) {
			m.RemoveRRset(rrs(t, "laptop.foo.example. 0 IN A 10.0.9.5"))
			insert(t, "laptop.foo.example. 60 IN A 10.0.9.6")(m)
		}), 0, "laptop.foo.example. 10.0.9.6 " + one},
		{"another client does not", "update.key.", []string{"laptop.foo.example. 10.0.9.5 " + two}, used(insert(t, "laptop.foo.example. 60 IN A 10.0.9.6")), dns.RcodeNXRrset, "-"},
		{"its address goes, its identifier stays", "update.key.", []string{laptop}, func(m *dns.Msg) { m.Remove(rrs(t, "laptop.foo.example. 0 IN A 10.0.9.5")) }, 0, "laptop.foo.example. invalid IP " + one},
		{"then the name goes, if it has no address", "update.key.", []string{"laptop.foo.example. - " + one}, func(m *dns.Msg) {
			m.Used(rrs(t, "laptop.foo.example. 0 IN DHCID "+one))
			m.RRsetNotUsed(rrs(t, "laptop.foo.example. 0 IN A 10.0.9.5", "laptop.foo.example. 0 IN AAAA ::"))
			m.RemoveName(rrs(t, "laptop.foo.example. 0 IN A 10.0.9.5"))
		}, 0, ""},
		{"not while it has one", "update.key.", []string{laptop}, func(m *dns.Msg) {
			m.RRsetNotUsed(rrs(t, "laptop.foo.example. 0 IN A 10.0.9.5"))
			m.RemoveName(rrs(t, "laptop.foo.example. 0 IN A 10.0.9.5"))
		}, dns.RcodeYXRrset, "-"},
		{"another address is not taken away", "update.key.", []string{laptop}, func(m *dns.Msg) { m.Remove(rrs(t, "laptop.foo.example. 0 IN A 10.0.9.6")) }, 0, "-"},
		{"all or nothing", "update.key.", []string{laptop}, func(m *dns.Msg) {
			m.RemoveName(rrs(t, "laptop.foo.example. 0 IN A 10.0.9.5"))
			insert(t, "other.foo.example. 60 IN A 192.0.2.1")(m)
		}, dns.RcodeRefused, "-"},
		{"a foreign address", "update.key.", nil, insert(t, "laptop.foo.example. 60 IN A 192.0.2.1"), dns.RcodeRefused, ""},
		{"a second address", "update.key.", []string{laptop}, insert(t, "laptop.foo.example. 60 IN A 10.0.9.6"), dns.RcodeRefused, "-"},
		{"another type", "update.key.", nil, insert(t, "laptop.foo.example. 60 IN TXT x"), dns.RcodeRefused, ""},
		{"an identifier that is too long", "update.key.", nil, insert(t, "laptop.foo.example. 60 IN DHCID "+base64.StdEncoding.EncodeToString(make([]byte, 65))), dns.RcodeRefused, ""},
		{"IPv6", "update.key.", nil, insert(t, "laptop.foo.example. 60 IN AAAA 2001:db8::5"), dns.RcodeRefused, ""},
		{"outside the zone", "update.key.", nil, insert(t, "laptop.bar.example. 60 IN A 10.0.9.5"), dns.RcodeNotZone, ""},
		{"one of two outside", "update.key.", nil, insert(t, "laptop.foo.example. 60 IN A 10.0.9.5", "x.bar.example. 60 IN A 10.0.9.6"), dns.RcodeNotZone, ""},
		{"a prerequisite outside", "update.key.", nil, func(m *dns.Msg) { m.NameUsed(rrs(t, "x.bar.example. 0 IN A 10.0.9.6")) }, dns.RcodeNotZone, ""},
		{"another zone", "update.key.", nil, func(m *dns.Msg) { m.Question[0].Name = "example.net." }, dns.RcodeNotAuth, ""},
		{"no zone but a name of one", "update.key.", nil, func(m *dns.Msg) { m.Question[0].Name = "hosta.foo.example." }, dns.RcodeNotAuth, ""},
		{"a key of something else", "copy.key.", nil, insert(t, "laptop.foo.example. 60 IN A 10.0.9.5"), dns.RcodeRefused, ""},
		{"not a zone", "update.key.", nil, func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeA }, dns.RcodeFormatError, ""},
		{"a name of the configuration is in use", "update.key.", nil, func(m *dns.Msg) { m.NameNotUsed(rrs(t, "hosta.foo.example. 0 IN A 10.0.9.5")) }, dns.RcodeYXDomain, ""},
		{"and has its address", "update.key.", nil, func(m *dns.Msg) { m.Used(rrs(t, "hosta.foo.example. 0 IN A 10.0.0.100")) }, 0, ""},
		{"the zone has no SOA like this", "update.key.", nil, func(m *dns.Msg) {
			m.Used(rrs(t, "foo.example. 0 IN SOA ns.foo.example. x.foo.example. 1 1 1 1 1"))
		}, dns.RcodeNXRrset, ""},
		{"a TTL in a prerequisite", "update.key.", nil, func(m *dns.Msg) {
			m.NameUsed(rrs(t, "hosta.foo.example. 0 IN A 10.0.9.5"))
			m.Answer[0].Header().Ttl = 1
		}, dns.RcodeFormatError, ""},
		{"a TTL where something is taken away", "update.key.", nil, func(m *dns.Msg) {
			m.RemoveName(rrs(t, "hosta.foo.example. 0 IN A 10.0.9.5"))
			m.Ns[0].Header().Ttl = 1
		}, dns.RcodeFormatError, ""},
	} {
		server, f := newRegistering(t, c.before...)
		before := f.state()
		reply := unpacked(t, through(server, signedUpdate(t, c.key, testSecret, time.Now(), c.change), UDP))
		want := c.after
		if want == "-" {
			want = before
		}
		if reply.Rcode != c.rcode || reply.IsTsig() == nil || f.state() != want {
			t.Errorf("%s: %s, %q, want %s, %q", c.about, dns.RcodeToString[reply.Rcode], f.state(), dns.RcodeToString[c.rcode], want)
		}
	}
}

// Who has no key, a wrong one, or one that was signed at another time changes nothing. Nor does the same update again, not even
// one that was done before a restart.
func TestUpdatesOfStrangers(t *testing.T) {
	server, f := newRegistering(t)
	now, elsewhere := time.Now(), netip.MustParseAddrPort("10.0.0.66:4242")
	comes := insert(t, "laptop.foo.example. 60 IN A 10.0.9.5")
	goes := func(m *dns.Msg) { m.RemoveName(rrs(t, "laptop.foo.example. 0 IN A 10.0.9.5")) }
	answers := func(about string, wire []byte, rcode int, code uint16) {
		t.Helper()
		before := f.state()
		for _, transport := range []Transport{UDP, TCP} {
			reply := unpacked(t, throughFrom(server, wire, transport, elsewhere))
			tsig := reply.IsTsig()
			if reply.Rcode != rcode || code > 0 && (tsig == nil || tsig.Error != code) || f.state() != before {
				t.Errorf("%s: %v, and %q is registered, %q before", about, reply, f.state(), before)
			}
		}
	}
	unsigned := new(dns.Msg).SetUpdate("foo.example.")
	comes(unsigned)
	answers("unsigned", packed(t, unsigned), dns.RcodeRefused, 0)
	answers("an unknown key", signedUpdate(t, "unknown.key.", testSecret, now, comes), dns.RcodeNotAuth, dns.RcodeBadKey)
	answers("a wrong secret", signedUpdate(t, "update.key.", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", now, comes), dns.RcodeNotAuth, dns.RcodeBadSig)
	answers("an old time", signedUpdate(t, "update.key.", testSecret, now.Add(-time.Hour), comes), dns.RcodeNotAuth, dns.RcodeBadTime)
	loose := new(dns.Msg).SetUpdate("foo.example.")
	comes(loose)
	loose.SetTsig("update.key.", dns.HmacSHA256, 3600, now.Add(-10*time.Minute).Unix())
	wire, _, err := dns.TsigGenerate(loose, testSecret, "", false)
	if err != nil {
		t.Fatal(err)
	}
	answers("an old time that is said to be near enough", wire, dns.RcodeNotAuth, dns.RcodeBadTime)
	answers("a time to come", signedUpdate(t, "update.key.", testSecret, now.Add(time.Hour), comes), dns.RcodeNotAuth, dns.RcodeBadTime)
	first := signedUpdate(t, "update.key.", testSecret, now, comes)
	if reply := unpacked(t, through(server, first, UDP)); reply.Rcode != 0 {
		t.Fatalf("%v", reply)
	}
	if reply := unpacked(t, through(server, signedUpdate(t, "update.key.", testSecret, now, goes), UDP)); reply.Rcode != 0 || f.state() != "" {
		t.Fatalf("%v", reply)
	}
	answers("the same again", first, dns.RcodeNotAuth, dns.RcodeBadTime)
	if reply := unpacked(t, through(server, first, UDP)); reply.Rcode != 0 || f.state() != "" { // whose answer was lost
		t.Errorf("the same again from where it came: %v, %q", reply, f.state())
	}
	// Another process knows when the last one was signed.
	fresh, _ := newRegistering(t)
	fresh.register.registrar, fresh.register.began = f, now.Add(time.Minute)
	server = fresh
	answers("the same after a restart", first, dns.RcodeNotAuth, dns.RcodeBadTime)
	f.kept = ErrNotKept
	server, _ = newRegistering(t)
	server.register.registrar = f
	answers("a disk that is full", signedUpdate(t, "update.key.", testSecret, now.Add(time.Second), comes), dns.RcodeServerFailure, 0)
}

// While the disk is slow few updates of a key wait for it, and nobody waits for one that is under way already.
func TestUpdatesUnderWay(t *testing.T) {
	t.Parallel()
	log := new(bytes.Buffer)
	server, f := newRegistering(t)
	server.logger, f.slow = slog.New(slog.NewTextHandler(log, nil)), make(chan struct{})
	update := func(n int) []byte {
		return signedUpdate(t, "update.key.", testSecret, time.Now(), insert(t, fmt.Sprintf("h%d.foo.example. 60 IN A 10.0.9.%d", n, n)))
	}
	var under []continuation
	send := func(wire []byte, from netip.AddrPort) *dns.Msg {
		t.Helper()
		reply, later := server.respond(context.Background(), wire, from, UDP, nil)
		if later != nil {
			under = append(under, later)
		}
		if reply == nil {
			return nil
		}
		return unpacked(t, reply)
	}
	first := update(0)
	for range 1000 {
		if reply := send(first, asker); reply != nil {
			t.Fatalf("%v", reply)
		}
	}
	if reply := send(first, netip.MustParseAddrPort("10.0.0.66:4242")); len(under) != 1 || reply == nil || reply.IsTsig().Error != dns.RcodeBadTime {
		t.Fatalf("%d under way, somebody else who sends it gets %v", len(under), reply)
	}
	for n := range 2 * mostUnderWay {
		if reply := send(update(n+1), asker); reply != nil {
			t.Fatalf("%v", reply)
		}
	}
	if len(under) != mostUnderWay || server.Statistics().WaitLimited != 999+mostUnderWay+1 {
		t.Errorf("%d under way, %+v", len(under), server.Statistics())
	}
	close(f.slow)
	for _, later := range under {
		if reply := unpacked(t, later(context.Background(), nil, nil)); reply.Rcode != 0 {
			t.Errorf("%v", reply)
		}
	}
	lines := strings.Count(log.String(), "msg=update")
	if reply := send(first, asker); reply == nil || reply.Rcode != 0 || reply.IsTsig() == nil || len(under) != mostUnderWay {
		t.Errorf("the same again: %v", reply)
	}
	for n := 200; ; n++ {
		reply := send(update(n%256), asker)
		if reply != nil && reply.Rcode == dns.RcodeRefused && reply.IsTsig() != nil {
			break
		}
		if n > 200+updatesAtOnce {
			t.Fatal("there is no end of what a key may change")
		}
		if more := under[mostUnderWay:]; len(more) > 0 {
			more[0](context.Background(), nil, nil)
			under, lines = under[:mostUnderWay], lines+1
		}
	}
	if got := strings.Count(log.String(), "msg=update"); got != lines {
		t.Errorf("%d lines, and %d updates", got, lines)
	}
}

// A key may make ten updates a second, and a hundred after a silence.
func TestUpdatesAreBounded(t *testing.T) {
	s := newSeen()
	now, n := time.Now(), 0
	allow := func(key model.Name, now time.Time) bool {
		n++
		mac := strconv.Itoa(n)
		v, _ := s.admit(key, &dns.TSIG{MAC: mac, TimeSigned: uint64(now.Unix())}, asker, 0, now)
		if v == begins {
			s.note(key, mac, 0, now)
		}
		return v == begins
	}
	burst := 0
	for allow("a.", now) {
		burst++
	}
	second := 0
	for allow("a.", now.Add(time.Second)) {
		second++
	}
	if burst != updatesAtOnce || second != updatesEachSecond || !allow("b.", now) {
		t.Errorf("%d at once, %d in the next second", burst, second)
	}
	for n := range 5 {
		allow("a.", now.Add(time.Duration(n+1)*1000*time.Second))
	}
	if n := len(s.of("a.").macs); n > 2 {
		t.Errorf("%d are remembered for ever", n)
	}
}
