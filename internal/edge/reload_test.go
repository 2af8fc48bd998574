package edge

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// reload puts what change makes of the configuration into force.
func (e *testEdge) reload(t *testing.T, change func(c *settings.Edges)) {
	t.Helper()
	c := e.c
	change(&c)
	next, err := e.Prepare(e.kept, "", e.names, c)
	if err == nil {
		err = next.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	next.Settle()
	e.c = c
}

// eventually waits for what another edge does soon.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// A reload ends what it forbids, at both edges, and nothing else.
func TestReloadForbids(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		about  string
		change func(e *testEdge, c *settings.Edges)
		ofA    bool // whose configuration; the pact is from a to b
		stays  bool
	}{
		{"the same", func(*testEdge, *settings.Edges) {}, true, true},
		{"a rule of ours forbids it", func(_ *testEdge, c *settings.Edges) { c.Out = nil }, true, false},
		{"the peer goes", func(_ *testEdge, c *settings.Edges) { c.Peers = nil }, true, false},
		{"its zone goes", func(_ *testEdge, c *settings.Edges) {
			c.Peers = []settings.Peer{c.Peers[0]}
			c.Peers[0].Zones = []model.Name{"c.example."}
		}, true, false},
		{"one more key of the peer", func(_ *testEdge, c *settings.Edges) {
			c.Peers = []settings.Peer{c.Peers[0]}
			c.Peers[0].Pins = append([][32]byte{{1}}, c.Peers[0].Pins...)
		}, true, true},
		{"no edges", func(_ *testEdge, c *settings.Edges) { *c = settings.Edges{} }, true, false},
		{"another proxy range", func(_ *testEdge, c *settings.Edges) { c.Proxy = netip.MustParsePrefix("172.30.0.0/16") }, true, false},
		{"an overlapping proxy range", func(_ *testEdge, c *settings.Edges) { c.Proxy = netip.MustParsePrefix("172.30.0.0/15") }, true, false},
		{"the other's rule forbids it", func(_ *testEdge, c *settings.Edges) { c.In = nil }, false, false},
		{"a rule for another", func(_ *testEdge, c *settings.Edges) {
			c.In = []settings.Rule{{From: []model.Name{"x.a.example."}, To: []model.Name{"*"}, Deny: true}, c.In[0]}
		}, false, true},
		{"the service closes", func(e *testEdge, _ *settings.Edges) { e.names["hostb.b.example."] = fakeHost{address: hostB} }, false, false},
		{"more of the name is required", func(_ *testEdge, c *settings.Edges) {
			c.In = []settings.Rule{c.In[0]}
			c.In[0].Require.Name = "full"
		}, false, false},
		{"the peer is to be vouched for", func(_ *testEdge, c *settings.Edges) {
			c.In = []settings.Rule{c.In[0]}
			c.In[0].Require.Vouched = "pinned" // as it is
		}, false, true},
		{"another limit", func(_ *testEdge, c *settings.Edges) {
			c.In = []settings.Rule{c.In[0]}
			c.In[0].Require.Sessions = 3
		}, false, false},
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			a, b := newPair(t, nil)
			if _, err := a.find(t, "hostb.b.example."); err != nil {
				t.Fatal(err)
			}
			one, other := b, a
			if test.ofA {
				one, other = a, b
			}
			one.names = maps.Clone(one.names)
			one.reload(t, func(c *settings.Edges) { test.change(one, c) })
			if left := len(one.plane.all()); (left > 0) != test.stays {
				t.Errorf("%d pacts are left when the reload has returned", left)
			}
			if !test.stays {
				eventually(t, "the other edge hears it", func() bool { return len(other.plane.all()) == 0 })
			}
		})
	}
}

// A reload that fails after our part has ended nothing.
func TestReloadFails(t *testing.T) {
	t.Parallel()
	a, _ := newPair(t, nil)
	answer, err := a.find(t, "hostb.b.example.")
	if err != nil {
		t.Fatal(err)
	}
	before := a.plane.all()
	forbids := a.c
	forbids.Out = nil
	next, err := a.Prepare(a.kept, "", a.names, forbids)
	if err == nil {
		err = errors.Join(next.Commit(), next.Rollback())
	}
	if err != nil {
		t.Fatal(err)
	}
	after := a.plane.all()
	if len(after) != 1 || after[0].Own != before[0].Own {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if again, err := a.find(t, "hostb.b.example."); err != nil || again.Address != answer.Address {
		t.Errorf("%+v, %v", again, err)
	}
}

// restart is a kill, and a start on the same data plane and store.
func (e *testEdge) restart(t *testing.T) {
	t.Helper()
	life{e.Service}.flush()
	e.keeps.Store(true)
	e.stop(t)
	e.keeps.Store(false)
	e.Service = New(e.Options)
	e.start(t)
}

// Who was killed has its pacts again, with tags and addresses; what one side alone has ends.
func TestResume(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	answer, err := a.find(t, "hostb.b.example.")
	if err != nil {
		t.Fatal(err)
	}
	before := b.plane.all()[0]
	for _, e := range []*testEdge{a, b} {
		e.restart(t)
		again, err := a.find(t, "hostb.b.example.")
		if err != nil || again.Address != answer.Address {
			t.Fatalf("after the restart of %s: %+v, %v", e.c.Name, again, err)
		}
	}
	eventually(t, "the link is up", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		p := b.peerNamed("edge.a.example.")
		return p.up && p.has == nil
	})
	at := a.plane.all()
	if there := b.plane.all(); len(there) != 1 || there[0].Own != before.Own || there[0].Peer != before.Peer || len(at) != 1 {
		t.Errorf("before %+v, after %+v", before, there)
	}
	lost := wire.Pair{Mine: wire.Tag(before.Peer), Yours: wire.Tag(before.Own)}
	far{b.Service}.Heard("edge.a.example.", wire.Resume{Pacts: []wire.Kept{{Pair: lost, From: "hosta.a.example.", To: "hostb.b.example."}}})
	if len(b.plane.all()) != 1 {
		t.Error("a pact that both have has ended")
	}
	b.mu.Lock()
	b.peerNamed("edge.a.example.").since += model.Instant(b.Wait)
	b.mu.Unlock()
	far{b.Service}.Heard("edge.a.example.", wire.Resume{})
	if left := b.plane.all(); len(left) > 0 {
		t.Errorf("the peer has none, and we have %+v", left)
	}
}

// What nobody has written down does not outlive its daemon.
func TestUnknownPactsEnd(t *testing.T) {
	t.Parallel()
	a, _ := newPair(t, nil)
	a.keeps.Store(true)
	a.stop(t)
	a.keeps.Store(false)
	a.plane.pacts[0x10001] = datapath.Pact{Number: 1, Own: 0x10001, Peer: 7, Host: hostA, Proxy: a.c.Proxy.Addr().Next(), Until: 1 << 40, Link: 1}
	a.Service = New(a.Options)
	a.start(t)
	if left := a.plane.all(); len(left) > 0 {
		t.Errorf("%+v", left)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var rests []netip.Addr // an answer may have told of it
	for p := range a.pacts.All() {
		if p.State == pact.Resting && p.Rests.Sub(a.Now()) > a.Rest-time.Minute {
			rests = append(rests, p.Proxy)
		}
	}
	if !slices.Equal(rests, []netip.Addr{a.c.Proxy.Addr().Next()}) {
		t.Errorf("%v rest", rests)
	}
}

// A start without edges, or with another range or address, leaves nothing of an earlier daemon in the data plane, and its addresses rest.
func TestStartAsAnother(t *testing.T) {
	t.Parallel()
	for about, change := range map[string]func(c *settings.Edges){
		"no edges":             func(c *settings.Edges) { *c = settings.Edges{} },
		"an overlapping range": func(c *settings.Edges) { c.Proxy = netip.MustParsePrefix("172.31.0.0/15") },
		"another address":      func(c *settings.Edges) { c.Listen = netip.MustParseAddrPort("198.18.0.2:48001") },
	} {
		a, _ := newPair(t, nil)
		if _, err := a.find(t, "hostb.b.example."); err != nil {
			t.Fatal(err)
		}
		at := a.plane.all()[0]
		c := a.c
		change(&c)
		life{a.Service}.flush()
		a.keeps.Store(true)
		a.stop(t)
		a.Service = New(a.Options)
		next, err := a.Prepare(a.kept, "", a.names, c)
		if err == nil {
			err = next.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		next.Settle()
		links := 0
		_ = a.plane.EdgeLinks(func(datapath.EdgeLink) bool { links++; return true })
		if left := a.plane.all(); len(left) > 0 || !c.Given() && (links > 0 || a.plane.edges != datapath.Edges{}) {
			t.Errorf("%s: %+v, %d links, %+v", about, left, links, a.plane.edges)
		}
		records, err := readKept(a.kept)
		if kept, is := records.pacts[at.Own]; err != nil || !is || kept.Proxy != at.Proxy {
			t.Errorf("%s: %v, on the disk: %+v", about, err, records.pacts)
		}
	}
}

// A record of a clock that was wrong has an address rest no longer than others.
func TestRestOfAWrongClock(t *testing.T) {
	t.Parallel()
	e := newTestEdge(nil, "a", "198.18.0.1:48001")
	e.kept.of["pact 00010001"] = fmt.Appendf(nil, `{"host": "10.0.0.100", "proxy": "172.31.0.1", "rests": %q}`, time.Now().AddDate(30, 0, 0).Format(time.RFC3339))
	next, err := e.Prepare(e.kept, "", e.names, e.c)
	if err == nil {
		err = next.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	life{e.Service}.flush()
	if r, err := readKept(e.kept); err != nil || time.Until(r.pacts[0x10001].Rests) > e.Rest {
		t.Errorf("%+v, %v", r.pacts, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for p := range e.pacts.All() {
		if p.Rests.Sub(e.Now()) > e.Rest {
			t.Errorf("%+v", p)
		}
	}
}

// What fails to begin does so anew with the next configuration.
func TestBeginFails(t *testing.T) {
	t.Parallel()
	e := newTestEdge(nil, "a", "198.18.0.1:48001")
	e.plane.edges = planeOf(e.c)
	e.plane.failEnd = errors.New("no")
	e.plane.pacts[0x10001] = datapath.Pact{Number: 1, Own: 0x10001, Peer: 7, Host: hostA, Proxy: e.c.Proxy.Addr().Next(), Until: 1 << 40, Link: 1}
	for _, want := range []error{e.plane.failEnd, nil} {
		e.plane.failEnd = want
		next, err := e.Prepare(e.kept, "", e.names, e.c)
		if err != nil {
			t.Fatal(err)
		}
		if err := next.Commit(); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if left := e.plane.all(); len(left) > 0 {
		t.Errorf("%+v", left)
	}
}

// A lease is prolonged at its half, at both edges.
func TestRenewal(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	if _, err := a.find(t, "hostb.b.example."); err != nil {
		t.Fatal(err)
	}
	at, there := a.plane.all()[0].Until, b.plane.all()[0].Until
	a.mu.Lock()
	p, _ := a.pacts.ByTag(a.plane.all()[0].Own)
	life{a.Service}.askRenewal([]pact.Pact{p})
	a.mu.Unlock()
	eventually(t, "both are prolonged", func() bool { return a.plane.all()[0].Until > at && b.plane.all()[0].Until > there })
}

// Between a reload's parts the names of the new configuration hold; where it fails, nothing stands that only its rules have let in.
func TestReloadFailsAfterAnOpen(t *testing.T) {
	t.Parallel()
	_, b := newPair(t, func(_, b *testEdge) { b.c.In = nil })
	names := maps.Clone(b.names)
	names["new.b.example."] = fakeHost{address: netip.MustParseAddr("10.0.0.101"), open: []model.Port{{}}}
	opens := b.c
	opens.In = []settings.Rule{{From: []model.Name{"*"}, To: []model.Name{"*"}}}
	next, err := b.Prepare(b.kept, "", names, opens)
	if err == nil {
		err = next.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	m := wire.Open{From: "hosta.a.example.", To: "new.b.example.", Tag: 77, Host: 1}
	if answer := b.opens("edge.a.example.", m); answer.Type() != "accept" {
		t.Fatalf("%+v", answer)
	}
	if err := next.Rollback(); err != nil {
		t.Fatal(err)
	}
	if left := b.plane.all(); len(left) > 0 {
		t.Errorf("%+v is left", left)
	}
}

// Who had the peer's former key is out when the reload has returned, with its pacts and keys; the next link has others.
func TestReloadExpels(t *testing.T) {
	t.Parallel()
	a, _ := newPair(t, func(a, _ *testEdge) { a.c.Peers[0].Pins = append(a.c.Peers[0].Pins, [32]byte{1}) })
	if _, err := a.find(t, "hostb.b.example."); err != nil {
		t.Fatal(err)
	}
	number := a.plane.all()[0].Link
	right := a.c.Peers[0].Pins[:1]
	pins := func(pins [][32]byte) {
		a.reload(t, func(c *settings.Edges) {
			c.Peers = []settings.Peer{c.Peers[0]}
			c.Peers[0].Pins = pins
		})
	}
	keys := a.plane.allKeys()
	pins(right)
	if left := a.plane.all(); len(left) > 0 {
		t.Errorf("%+v is left", left)
	}
	eventually(t, "the link is there again, with other keys", func() bool {
		return a.plane.link(number) != (datapath.EdgeLink{}) && !maps.Equal(keys, a.plane.allKeys())
	})
	pins([][32]byte{{1}})
	if _, err := a.find(t, "hostb.b.example."); err == nil || a.plane.link(number) != (datapath.EdgeLink{}) {
		t.Errorf("who is not the peer answers, %v, or has a link: %+v", err, a.plane.link(number))
	}
}

// A pact of a peer that was vouched for less well than a rule wants now is wider than the rule.
func TestVouchedTooLittle(t *testing.T) {
	t.Parallel()
	wide := policy.Rule{Require: policy.Widest, Offer: policy.Widest}
	narrow := wide
	narrow.Require.Vouched = policy.Certificate
	p := pact.Pact{Terms: policy.Widest, Vouched: policy.DNSSEC}
	if !within(p, wide) || within(p, narrow) {
		t.Errorf("%t by %+v, %t by %+v", within(p, wide), wide, within(p, narrow), narrow)
	}
}
