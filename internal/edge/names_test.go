package edge

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// nested gives an edge a peer whose zone is around all others.
func nested(e *testEdge) {
	e.c.Peers = append(e.c.Peers, settings.Peer{Name: "edge.elsewhere.", Zones: []model.Name{"example."}, Pins: [][32]byte{{1}}})
}

// opens is what an edge answers to an open of a peer.
func (e *testEdge) opens(peer model.Name, m wire.Open) wire.Message {
	m.ID, m.Round, m.Offer.Name = 1, 1, "full"
	e.mu.Lock()
	defer e.mu.Unlock()
	return far{e.Service}.admit(e.peerNamed(peer), m)
}

// Whose zone is around another's, or around ours, does not speak for names there.
func TestNestedZones(t *testing.T) {
	t.Parallel()
	_, b := newPair(t, func(_, b *testEdge) { nested(b); b.names["edge.elsewhere."] = b.names["hostb.b.example."] })
	for from, admitted := range map[model.Name]bool{
		"x.example.": true, "edge.elsewhere.": true, "hosta.a.example.": false, "a.example.": false, "hostb.b.example.": false, "x.b.example.": false,
	} {
		answer := b.opens("edge.elsewhere.", wire.Open{From: from, To: "hostb.b.example.", Tag: 77, Host: 1})
		if _, is := answer.(wire.Accept); is != admitted {
			t.Errorf("%s: %+v", from, answer)
		}
	}
	if b.Owns("x.b.example.") || b.Owns("b.example.") {
		t.Error("a name of ours is asked of a peer")
	}
}

// A name that is another peer's by a reload is not its former peer's any more.
func TestNestedZonesAfterReload(t *testing.T) {
	t.Parallel()
	_, b := newPair(t, func(_, b *testEdge) { nested(b); b.c.Peers[0].Zones = []model.Name{"elsewhere."} })
	if answer := b.opens("edge.elsewhere.", wire.Open{From: "hosta.a.example.", To: "hostb.b.example.", Tag: 77, Host: 1}); answer.Type() != "accept" {
		t.Fatalf("%+v", answer)
	}
	b.reload(t, func(c *settings.Edges) {
		c.Peers = []settings.Peer{c.Peers[0], c.Peers[1]}
		c.Peers[0].Zones = []model.Name{"a.example."}
	})
	if left := b.plane.all(); len(left) > 0 {
		t.Errorf("%+v is left", left)
	}
}

// Hosts that are known by their edge's name have a pact each, over a restart as well.
func TestHostsByEdge(t *testing.T) {
	t.Parallel()
	second := netip.MustParseAddr("10.0.0.101")
	a, b := newPair(t, func(a, _ *testEdge) { a.c.Out[0].Offer.Name = "edge" })
	ask := func(host netip.Addr) {
		t.Helper()
		if _, err := a.Find(t.Context(), nameserver.AbroadQuestion{Name: "hostb.b.example.", Asker: host}); err != nil {
			t.Fatal(err)
		}
	}
	ask(hostA)
	ask(second)
	if at, there := a.plane.all(), b.plane.all(); len(at) != 2 || len(there) != 2 {
		t.Fatalf("%+v and %+v", at, there)
	}
	before := b.plane.all()
	b.restart(t)
	ask(hostA)
	if after := b.plane.all(); len(after) != 2 || after[0].Own != before[0].Own || after[1].Own != before[1].Own {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// A peer is told of a pact that ends because its name stands for another machine.
func TestMovedNameIsTold(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	if _, err := a.find(t, "hostb.b.example."); err != nil {
		t.Fatal(err)
	}
	b.opens("edge.a.example.", wire.Open{From: "hosta.a.example.", To: "hostb.b.example.", Tag: 77, Host: 1})
	eventually(t, "the peer has ended it", func() bool { return len(a.plane.all()) == 0 })
}

// A host whose name is in none of the zones that we speak for is known by its edge's name.
func TestHostOutsideOurZones(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, func(a, _ *testEdge) {
		a.c.Realm = append(a.c.Realm, "inside.")
		a.names["host.inside."] = a.names["hosta.a.example."]
		delete(a.names, "hosta.a.example.")
	})
	answer, err := a.find(t, "hostb.b.example.")
	if err != nil {
		t.Fatal(err)
	}
	if name, found := a.Reverse(hostA, answer.Address); !found || name != "hostb.b.example." {
		t.Errorf("%q, %t", name, found)
	}
	if name, found := b.Reverse(hostB, b.plane.all()[0].Proxy); !found || name != "edge.a.example." {
		t.Errorf("%q, %t", name, found)
	}
}
