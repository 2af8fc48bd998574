package edge

import (
	"maps"
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// underWay is the question of hosta for hostb while it waits for its answer.
func (e *testEdge) underWay(t *testing.T) ask {
	t.Helper()
	key := pact.Key{Host: hostA, Local: "hosta.a.example.", Remote: "hostb.b.example."}
	reserved, _, err := e.pacts.Open(e.Now(), key, "edge.b.example.")
	if err != nil {
		t.Fatal(err)
	}
	rule, _, _ := policy.Judge(e.out, policy.Question{From: key.Local, To: key.Remote, Vouched: policy.Pinned}, false)
	return ask{peer: e.peerNamed("edge.b.example."), edge: "edge.b.example.", pact: reserved, from: key.Local, rule: rule}
}

// accepts is what comes of an accept.
func (e *testEdge) accepts(a ask, tag wire.Tag) (pact.Pact, error) {
	terms, err := a.rule.Terms()
	if err != nil {
		return pact.Pact{}, err
	}
	return near{e.Service}.accepted(a, wire.Accept{ID: 1, Tag: tag, Host: 1, Terms: said(terms)})
}

// Where the peer has lost a pact and accepts under another tag, nothing is left of the one that we have.
func TestWidenedUnderAnotherTag(t *testing.T) {
	t.Parallel()
	a, _ := newPair(t, nil)
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.underWay(t)
	if _, err := a.accepts(asked, 77); err != nil {
		t.Fatal(err)
	}
	if _, err := a.accepts(asked, 77); err != nil || len(a.plane.all()) != 1 {
		t.Fatalf("%v: %+v", err, a.plane.all())
	}
	if _, err := a.accepts(asked, 78); err == nil || len(a.plane.all()) > 0 {
		t.Errorf("%v: %+v is left", err, a.plane.all())
	}
}

// What is accepted when nobody waits any more is given back; what stands is not.
func TestLateAccept(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	if _, err := a.find(t, "hostb.b.example."); err != nil {
		t.Fatal(err)
	}
	at := a.plane.all()[0]
	far{a.Service}.Heard("edge.b.example.", wire.Accept{ID: 1<<40 | uint64(at.Own), Tag: wire.Tag(at.Peer)})
	b.opens("edge.a.example.", wire.Open{From: "x.a.example.", To: "hostb.b.example.", Tag: 77, Host: 1})
	late := b.plane.all()
	if len(late) != 2 {
		t.Fatalf("%+v", late)
	}
	tag := late[0].Own
	if tag == at.Peer {
		tag = late[1].Own
	}
	far{a.Service}.Heard("edge.b.example.", wire.Accept{ID: 1<<40 | 77, Tag: wire.Tag(tag)})
	eventually(t, "it has ended", func() bool { return len(b.plane.all()) == 1 })
	if left := b.plane.all()[0]; left.Own != at.Peer {
		t.Errorf("%+v is left", left)
	}
}

// An answer that comes after a reload is judged by what is in force then.
func TestAcceptedAfterReload(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		about  string
		change func(e *testEdge, c *settings.Edges)
		passes bool
	}{
		{"the same", func(*testEdge, *settings.Edges) {}, true},
		{"narrower terms", func(_ *testEdge, c *settings.Edges) {
			c.Out = []settings.Rule{c.Out[0]}
			c.Out[0].Require.Services = []model.Port{{Protocol: model.TCP, Port: 443, To: 443}}
		}, false},
		{"another peer has the name", func(_ *testEdge, c *settings.Edges) {
			c.Peers = append([]settings.Peer{{Name: "edge.c.example.", Zones: []model.Name{"hostb.b.example."}, Pins: [][32]byte{{1}}}}, c.Peers...)
		}, false},
		{"another proxy range", func(_ *testEdge, c *settings.Edges) { c.Proxy = netip.MustParsePrefix("172.30.0.0/16") }, false},
		{"another host has the address", func(e *testEdge, _ *settings.Edges) {
			e.names = fakeNames{"hostc.a.example.": e.names["hosta.a.example."]}
		}, false},
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			a, _ := newPair(t, nil)
			a.mu.Lock()
			asked := a.underWay(t)
			a.mu.Unlock()
			a.reload(t, func(c *settings.Edges) { test.change(a, c) })
			a.mu.Lock()
			defer a.mu.Unlock()
			if p, err := a.accepts(asked, 77); (err == nil) != test.passes {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

// A pact that a host asked for is not another's who has its address later.
func TestPactEndsWithItsHost(t *testing.T) {
	t.Parallel()
	a, _ := newPair(t, nil)
	if _, err := a.find(t, "hostb.b.example."); err != nil {
		t.Fatal(err)
	}
	a.names = maps.Clone(a.names)
	moved := a.names["hosta.a.example."]
	a.names["hostc.a.example."] = moved
	moved.address = netip.MustParseAddr("10.0.0.101")
	a.names["hosta.a.example."] = moved
	a.reload(t, func(*settings.Edges) {})
	if left := a.plane.all(); len(left) > 0 {
		t.Errorf("%+v is left", left)
	}
}
