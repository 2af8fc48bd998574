package edge

import (
	"errors"
	"testing"

	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// A peer speaks for its own zones, label by label, and asks for ours alone: whatever else it says is refused before any rule.
func TestSpeaksForItsZonesOnly(t *testing.T) {
	t.Parallel()
	_, b := newPair(t, nil)
	for _, test := range []struct{ from, to model.Name }{
		{"hosta.a.example.", "hostb.b.example."},
		{"edge.a.example.", "hostb.b.example."},
		{"hosta.evila.example.", "hostb.b.example."},
		{"a.example.evil.", "hostb.b.example."},
		{"hostb.b.example.", "hostb.b.example."},
		{"hosta.a.example.", "hostb.evilb.example."},
		{"hosta.a.example.", "hosta.a.example."},
		{"hosta.a.example.", "example."},
	} {
		b.mu.Lock()
		answer := far{b.Service}.admit(b.peerNamed("edge.a.example."), wire.Open{ID: 1, From: test.from, To: test.to, Tag: 77, Host: 1, Round: 1})
		b.mu.Unlock()
		want := wire.Refusal("")
		switch {
		case test.to != "hostb.b.example.":
			want = wire.RefusedTarget
		case !test.from.In("a.example."):
			want = wire.RefusedSource
		}
		got := wire.Refusal("")
		if r, is := answer.(wire.Refuse); is {
			got = r.Reason
		}
		if got != want {
			t.Errorf("%s asks for %s: %q, want %q", test.from, test.to, got, want)
		}
	}
}

// What a peer ends is out of the data plane, by its own tags alone.
func TestCloseIsCarriedOut(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	if _, err := a.find(t, "hostb.b.example."); err != nil {
		t.Fatal(err)
	}
	p := b.plane.all()[0]
	pair := wire.Pair{Mine: wire.Tag(p.Peer), Yours: wire.Tag(p.Own)}
	for _, other := range []wire.Pair{{Mine: pair.Mine + 1, Yours: pair.Yours}, {Mine: pair.Mine, Yours: pair.Yours + 1}} {
		far{b.Service}.Heard("edge.a.example.", wire.Close{Pacts: []wire.Pair{other}})
		if len(b.plane.all()) != 1 {
			t.Fatalf("%+v ends %+v", other, pair)
		}
	}
	far{b.Service}.Heard("edge.a.example.", wire.Close{Pacts: []wire.Pair{pair}})
	if left := b.plane.all(); len(left) > 0 {
		t.Errorf("%+v is left", left)
	}
}

// A clean stop takes everything out of the data plane, and so do peers that are told.
func TestStopIsTold(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	if _, err := a.find(t, "hostb.b.example."); err != nil {
		t.Fatal(err)
	}
	eventually(t, "one connection is left", func() bool {
		at, there := a.links.States()[0], b.links.States()[0]
		return at.Up && there.Up && at.Dialled != there.Dialled
	})
	a.stop(t)
	if len(a.plane.all()) > 0 || len(a.plane.links) > 0 || a.plane.edges.Proxy.IsValid() {
		t.Errorf("left: %+v, %+v, %+v", a.plane.all(), a.plane.links, a.plane.edges)
	}
	eventually(t, "the peer has no pact", func() bool { return len(b.plane.all()) == 0 })
}

// Who stops opens no pact any more, whoever asks, and says so.
func TestStoppingRefuses(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	if _, err := a.find(t, "hostb.b.example."); err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	b.stopping = true
	b.mu.Unlock()
	var said *nameserver.AbroadError
	if _, err := a.find(t, "other.b.example."); !errors.As(err, &said) || said.Text != "edge edge.b.example. refuses: stopping" {
		t.Errorf("%v", err)
	}
	a.mu.Lock()
	life{a.Service}.endAll(func(pact.Pact) bool { return true }, "stop")
	asked := a.underWay(t)
	a.stopping = true
	_, err := a.accepts(asked, 77)
	a.mu.Unlock()
	if err == nil || len(a.plane.all()) > 0 {
		t.Errorf("%v: %+v", err, a.plane.all())
	}
	if _, err := a.find(t, "hostb.b.example."); !errors.As(err, &said) || said.Text != errStopping.Error() {
		t.Errorf("%v", err)
	}
}
