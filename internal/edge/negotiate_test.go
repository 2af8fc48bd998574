package edge

import (
	"testing"

	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/edge/wire"
)

// underWay is the question of hosta for hostb while it waits for its answer.
func (e *testEdge) underWay(t *testing.T) ask {
	t.Helper()
	key := pact.Key{Host: hostA, Local: "hosta.a.example.", Remote: "hostb.b.example."}
	reserved, _, err := e.pacts.Open(e.Now(), key, "edge.b.example.")
	if err != nil {
		t.Fatal(err)
	}
	rule, place, _ := policy.Judge(e.out, policy.Question{From: key.Local, To: key.Remote, Vouched: policy.Pinned}, false)
	return ask{peer: e.peerNamed("edge.b.example."), edge: "edge.b.example.", pact: reserved, from: key.Local, rule: rule, place: place}
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
