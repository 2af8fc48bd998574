package daemon

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/pool"
)

const webSection = "web: {addresses: [198.18.0.80]}\n"

var (
	webAddress = netip.MustParseAddr("198.18.0.80")
	lastingly  = strings.Replace(text, "pool: {", lasting, 1) // reservations wait for a slow machine
)

// A reload that gives the web an address takes its names out of the pool, and the next one puts them back. Sessions that
// stand go on, as their ports of the host stay open.
func TestReloadMovesNamesToTheWebAndBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, lastingly)
	r.routed()
	lent := r.mustAsk(www)
	r.admits(remote, lent, 80)

	r.must(r.reloadWith(lastingly + webSection))
	if at, err := r.ask(www); err == nil {
		t.Errorf("a web name is lent %s", at)
	}
	now := r.view.Load().realm
	if entry, _ := now.Find(www); entry.Web != webAddress {
		t.Errorf("it is answered %+v", entry)
	}
	if target, ok := now.WebTarget("WWW.hosta.foo.example", model.TCP, 80); !ok || target.To != netip.MustParseAddrPort("10.0.0.100:8080") {
		t.Errorf("it leads to %+v", target)
	}
	if end := r.proves(remote, netip.AddrPortFrom(lent, 80)); end.IsDrop() {
		t.Errorf("a packet of the session ended with %s", end)
	}
	r.refuses(visitor(1, 4000), lent, 80, "drop_no_binding")
	for _, p := range r.pool.Places() {
		if p.Service.Name == www && p.State != pool.Resting {
			t.Errorf("the pool has a place for it: %+v", p)
		}
	}
	rows, err := r.Listing(api.Names.Name, api.Filter{})
	if names, ok := rows.([]api.Name); err != nil || !ok || len(names) != 1 || names[0].Service != www || names[0].Address != webAddress {
		t.Errorf("listed: %+v, %v", rows, err)
	}

	r.must(r.reloadWith(lastingly))
	if again := r.mustAsk(www); again != lent {
		t.Errorf("it had %s, and has %s", lent, again)
	}
	if entry, _ := r.view.Load().realm.Find(www); entry.Web.IsValid() {
		t.Errorf("it is answered %+v", entry)
	}
}

// An address that was lent just now is not the web's before it has rested.
func TestReloadTakesNoLentAddressForTheWeb(t *testing.T) {
	t.Parallel()
	one := strings.Replace(text, "198.18.0.32/28", "198.18.0.32", 1)
	r := newRig(t, one)
	lent := r.mustAsk(www)
	next := strings.Replace(one, "[198.18.0.32]", "[198.18.0.33]", 1) + strings.Replace(webSection, webAddress.String(), lent.String(), 1)
	if err := r.reloadWith(next); err == nil || !strings.Contains(err.Error(), "was of the pool until now") {
		t.Errorf("%v", err)
	}
	if at := r.mustAsk(www); at != lent {
		t.Errorf("after the refused reload it has %s", at)
	}
}

// An address that was the web's just now is not the pool's for web.ttl at the ports that the web had: who remembers it for a
// name of the web reaches nobody else. A restart forgets nothing of that.
func TestReloadLendsNoAddressOfTheWeb(t *testing.T) {
	t.Parallel()
	one := strings.Replace(lastingly, "198.18.0.32/28", webAddress.String(), 1) + "  - {name: hostc.foo.example., address: 10.0.0.103, open: [tcp/5000]}\n"
	r := newRig(t, lastingly+webSection)
	r.routed()
	r.must(r.reloadWith(one))
	rests := func() {
		t.Helper()
		if address, err := r.ask(www); !errors.Is(err, nameserver.ErrExhausted) {
			t.Errorf("%s, %v", address, err)
		}
		if address := r.mustAsk("hostc.foo.example."); address != webAddress {
			t.Errorf("%s is lent for a port that was never the web's", address)
		}
	}
	rests()
	for _, kept := range []bool{true, false} {
		r.restart(kept, one)
		r.must(r.namespace.Do(r.data.Refresh))
		rests()
	}
	r.must(r.reloadWith(strings.Replace(lastingly, "198.18.0.32/28", "198.18.0.32", 1) + "web: {addresses: [198.18.0.81], ttl: 1h}\n"))
	refused := strings.Replace(lastingly, "198.18.0.32/28", "198.18.0.32", 1) + "  - {name: hostc.foo.example., address: 10.0.0.103, one_to_one: 198.18.0.81}\n"
	if err := r.reloadWith(refused); err == nil || !strings.Contains(err.Error(), "198.18.0.81 was of the web until now") {
		t.Errorf("%v", err)
	}
}

// A host that has nothing but web names may inherit the address of one that was lent: whose sessions end all the same.
func TestWebHostInheritsAnAddress(t *testing.T) {
	t.Parallel()
	r := newRig(t, lastingly)
	r.routed()
	lent := r.mustAsk(www)
	r.admits(remote, lent, 80)
	r.must(r.reloadWith(strings.NewReplacer("hosta", "hostb").Replace(lastingly) + webSection))
	if left := r.sessionsOf("pool"); left > 0 {
		t.Errorf("%d sessions are with another host than they were opened for", left)
	}
}

func (b *rig) sessionsOf(origin string) (n int) {
	b.t.Helper()
	b.must(b.Sessions(api.Filter{}, 0, func(s api.Session) bool {
		if s.Origin == origin {
			n++
		}
		return true
	}))
	return n
}

// A connection by name is the host's that the name leads to: where it leads elsewhere it ends, though the endpoint is open. So
// it does where the host's address is another's now, as the name says no more that it is there.
func TestWebNameLeadsElsewhere(t *testing.T) {
	t.Parallel()
	const sites = "web: {addresses: [198.18.0.80], quic: true}\nhosts:\n" +
		"  - {name: hosta.foo.example., address: 10.0.0.100, open: [udp/443:8443]}\n" +
		"  - {name: hostb.foo.example., address: 10.0.0.101, open: [udp/443:8443]}\n"
	before, _, _ := strings.Cut(text, "hosts:")
	r := newRig(t, before+sites)
	r.routed()
	hostA := netip.MustParseAddrPort("10.0.0.100:8443")
	for port, name := range map[uint16]model.Name{4000: "hosta.foo.example.", 4001: "hostb.foo.example."} {
		from, to := netip.AddrPortFrom(remote.Addr(), port), netip.AddrPortFrom(webAddress, 443)
		host := hostA
		if name != "hosta.foo.example." {
			host = netip.MustParseAddrPort("10.0.0.101:8443")
		}
		r.must(r.data.AnswerWeb(model.Tuple{Protocol: model.UDP, Source: from, Destination: to},
			datapath.WebAnswer{Host: host, Name: r.view.Load().realm.Number(name)}))
		if end := r.send(true, packets.NewUDP(from, to, "hello")); end.IsDrop() {
			t.Fatalf("%s: %s", name, end)
		}
	}
	r.must(r.reloadWith(before + sites))
	if n := r.sessionsOf("web"); n != 2 {
		t.Fatalf("%d sessions stand after a reload that changes nothing", n)
	}
	r.must(r.reloadWith(before + strings.NewReplacer("hosta", "hostb", "hostb", "hosta").Replace(sites)))
	if n := r.sessionsOf("web"); n != 0 {
		t.Errorf("%d sessions are with another host than they asked for", n)
	}
}

// Who comes to a web address as soon as it is attached or a reload brings it, while no service runs yet, is answered and not
// refused.
func TestWebAnswersAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoSites)
	r.routed()
	syn := packets.NewTCP(netip.MustParseAddrPort("203.0.113.70:4000"), netip.AddrPortFrom(webAddress, 443), packets.SYN, "")
	r.must(r.data.StopWebHeartbeat())
	if end := r.send(true, syn); end != "drop_daemon_away" { // this loads a program, for longer than a heartbeat on a busy machine
		t.Errorf("a SYN while nobody reads names ended with %s", end)
	}
	r.must(r.reloadWith(twoSites)) // by what a start does, too
	if end := r.send(true, syn); end != model.ReasonAnsweredCookie {
		t.Errorf("a SYN right after that ended with %s, want %s", end, model.ReasonAnsweredCookie)
	}
}
