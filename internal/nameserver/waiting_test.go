package nameserver

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// An asker with as many questions under way as it may have gets no more in, and
// others do; when its questions are done it may ask again.
func TestWaitLimit(t *testing.T) {
	const most = 3
	release := make(chan struct{})
	upstream := upstreamServer(t, func(w dns.ResponseWriter, m *dns.Msg) {
		<-release
		answerWith(m.Question[0].Name+" 300 IN A 192.0.2.80")(w, m)
	})
	server := newPrivate(t, func(o *PrivateOptions) { o.Upstream, o.WaitLimit = []netip.AddrPort{upstream}, most })
	told := map[netip.Addr]int{}
	server.tell = func(asker netip.Addr) { told[asker]++ }
	greedy, other := netip.MustParseAddrPort("10.0.0.7:4242"), netip.MustParseAddrPort("10.0.0.8:4242")
	ask := func(from netip.AddrPort, name string, transport Transport) ([]byte, continuation) {
		return server.respond(t.Context(), packed(t, request(name, dns.TypeA).SetEdns0(1232, false)), from, transport, nil)
	}
	var waiting []continuation
	for _, name := range []string{"a.example.net.", "b.example.net.", "c.example.net."} {
		_, later := ask(greedy, name, UDP)
		if later == nil {
			t.Fatalf("%s does not wait", name)
		}
		waiting = append(waiting, later)
	}
	if reply, later := ask(greedy, "d.example.net.", UDP); reply != nil || later != nil {
		t.Errorf("over UDP: %x", reply)
	}
	wire, later := ask(greedy, "d.example.net.", TCP)
	if later != nil {
		t.Fatal("over TCP the question waits")
	}
	reply := unpacked(t, wire)
	if ede := reply.IsEdns0().Option; reply.Rcode != dns.RcodeServerFailure || len(ede) != 1 {
		t.Errorf("over TCP: %v", reply)
	}
	// A name of ours waits for nobody.
	if reply, _ := ask(greedy, "hosta.foo.example.", UDP); reply == nil {
		t.Error("a name of ours is not answered")
	}
	_, later = ask(other, "d.example.net.", UDP)
	if later == nil {
		t.Fatal("another asker's question does not wait")
	}
	if s := server.Statistics(); s.WaitLimited != 2 || s.Overloaded != 0 || len(told) != 1 || told[greedy.Addr()] != 2 {
		t.Errorf("counters %+v, told of %v", s, told)
	}
	close(release)
	for _, later := range append(waiting, later) {
		if m := unpacked(t, later(t.Context(), nil, nil)); len(m.Answer) != 1 {
			t.Errorf("got %v", m)
		}
	}
	if n := len(server.waiting.askers); n != 0 || server.waiting.all != 0 {
		t.Errorf("%d askers and %d questions are left", n, server.waiting.all)
	}
	if _, later := ask(greedy, "e.example.net.", UDP); later == nil {
		t.Error("when its questions are done the asker may ask again")
	} else {
		later(t.Context(), nil, nil)
	}
}

// A reload changes the share, and takes none from who waits.
func TestWaitLimitByReload(t *testing.T) {
	options := PrivateOptions{
		Zones: testZones, Nameserver: "ns.foo.example.", NameserverAddress: netip.MustParseAddr("10.0.0.1"),
		Serial: 7, Directory: realm, Upstream: []netip.AddrPort{closedPort(t)}, WaitLimit: 1,
	}
	server, err := NewPrivate(options)
	if err != nil {
		t.Fatal(err)
	}
	waits := func() bool {
		_, later := server.respond(t.Context(), packed(t, request("www.example.net.", dns.TypeA)), asker, UDP, nil)
		return later != nil
	}
	if first, second := waits(), waits(); !first || second {
		t.Errorf("of a share of one: %v, %v", first, second)
	}
	options.WaitLimit = 2
	if err := server.Reconfigure(options); err != nil {
		t.Fatal(err)
	}
	if first, second := waits(), waits(); !first || second {
		t.Errorf("after the reload: %v, %v", first, second)
	}
}

func TestLogLinesAreSeldom(t *testing.T) {
	var s seldom
	if !s.due(0) || s.due(1) || s.due(seldomEvery-1) || !s.due(seldomEvery) || s.due(seldomEvery+1) {
		t.Error("the lines do not come every ten seconds")
	}
}

// A host that takes its neighbours' addresses fills all there is. A new question gets in as soon as one has waited for
// long, and that one's upstream is asked no more.
func TestLongWaitsGiveWay(t *testing.T) {
	var now atomic.Int64
	asked, stopped := make(chan struct{}), make(chan struct{})
	server := newPrivate(t, func(o *PrivateOptions) {
		o.Upstream, o.WaitLimit = []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:53")}, 1
		o.Now = func() model.Instant { return model.Instant(now.Load()) }
	})
	server.settings.Load().upstream.exchange = func(ctx context.Context, _ netip.AddrPort, m *dns.Msg) (*dns.Msg, error) {
		if strings.HasPrefix(m.Question[0].Name, "good") {
			return new(dns.Msg).SetReply(m), nil
		}
		close(asked)
		<-ctx.Done()
		close(stopped)
		return nil, ctx.Err()
	}
	ask := func(n int, name string, transport Transport) ([]byte, continuation) {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(n >> 8), byte(n)}), 4242)
		return server.respond(t.Context(), packed(t, request(name, dns.TypeA)), from, transport, nil)
	}
	_, first := ask(0, "slow.example.net.", TCP)
	gone := make(chan []byte)
	go func() { gone <- first(t.Context(), nil, nil) }()
	<-asked
	for n := 1; n < underWay; n++ {
		if _, later := ask(n, "slow.example.net.", UDP); later == nil {
			t.Fatalf("question %d does not wait", n)
		}
	}
	now.Store(int64(jostleAfter) - 1)
	if reply, later := ask(underWay, "good.example.net.", UDP); later != nil || reply != nil {
		t.Errorf("before the oldest has waited for long: %x", reply)
	}
	now.Store(int64(jostleAfter))
	_, later := ask(underWay, "good.example.net.", UDP)
	if later == nil {
		t.Fatal("the oldest does not give way")
	}
	if reply := unpacked(t, <-gone); reply.Rcode != dns.RcodeServerFailure {
		t.Errorf("who gave way over TCP: %v", reply)
	}
	<-stopped
	if reply := unpacked(t, later(t.Context(), nil, nil)); reply.Rcode != dns.RcodeSuccess {
		t.Errorf("who got in: %v", reply)
	}
	if n := len(server.flights.live); n != 0 || server.waiting.all != underWay-1 {
		t.Errorf("%d questions are asked, %d wait", n, server.waiting.all)
	}
}

// Where all is full who has most gives way to who has less at once, and to who has as many after a while. The only
// question of an asker stays, though it has waited for longest.
func TestWhoHasMostGivesWay(t *testing.T) {
	var w waiting
	address := func(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}) }
	enter := func(n int, now model.Instant) *wait {
		one, admission := w.enter(address(n), underWay, now)
		if (one != nil) != (admission == admitted) {
			t.Fatalf("question of %d at %d: %d, but %v", n, now, admission, one)
		}
		return one
	}
	first := enter(1, 0)
	var hosts [2][]*wait // 2,047 of one, 2,048 of another
	for n := 1; n < underWay; n++ {
		hosts[n%2] = append(hosts[n%2], enter(10+n%2, model.Instant(n)))
	}
	if enter(10, underWay) != nil {
		t.Error("who would have as many as who has most gets in at once")
	}
	second := enter(2, underWay)
	if second == nil || !hosts[1][0].hasGivenWay() {
		t.Fatal("the oldest of who has most does not give way to a newcomer")
	}
	if now := 2 + model.Instant(jostleAfter); enter(10, now) == nil || !hosts[0][0].hasGivenWay() {
		t.Error("after a while the oldest of who has most does not give way")
	}
	for range 3 * underWay { // both hosts go on
		enter(10, 3*model.Instant(jostleAfter))
		enter(11, 3*model.Instant(jostleAfter))
	}
	if first.hasGivenWay() || second.hasGivenWay() || w.all != underWay || len(w.most) != 4 {
		t.Errorf("the only questions of others gave way: %t, %t; %d wait, of %d askers", first.hasGivenWay(), second.hasGivenWay(), w.all, len(w.most))
	}
	for _, one := range slices.Concat(hosts[0], hosts[1], []*wait{first, second}) { // all that gave way, and who did not
		w.leave(one)
		w.leave(one)
	}
	if w.all != underWay-2 || len(w.most) != 2 || len(w.askers) != 2 {
		t.Errorf("when these two have left %d wait, of %d askers, of whom %d are known", w.all, len(w.most), len(w.askers))
	}
}
