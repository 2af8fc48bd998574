package edge

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// find asks as a host's resolver does.
func (e *testEdge) find(t *testing.T, name model.Name) (nameserver.AbroadAnswer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return e.Find(ctx, nameserver.AbroadQuestion{Name: name, Asker: hostA})
}

// A question leads to a pact that is in both data planes, with each other's tags and the same keys. Who has it asks nobody again.
func TestFind(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	answer, err := a.find(t, "hostb.b.example.")
	if err != nil {
		t.Fatal(err)
	}
	at, there := a.plane.all(), b.plane.all()
	if len(at) != 1 || len(there) != 1 {
		t.Fatalf("pacts %+v and %+v", at, there)
	}
	if !a.c.Proxy.Contains(answer.Address) || answer.Address != at[0].Proxy || answer.TTL <= 0 || answer.TTL > a.c.TTL {
		t.Errorf("answer %+v, pact %+v", answer, at[0])
	}
	if at[0].Own != there[0].Peer || at[0].Peer != there[0].Own || at[0].Own == 0 || at[0].Peer == 0 {
		t.Errorf("tags %+v and %+v", at[0], there[0])
	}
	if !at[0].Out || at[0].In || there[0].Out || !there[0].In || len(there[0].Ways) != 1 || there[0].Ways[0] != (datapath.Way{Protocol: model.TCP, Port: 80, To: 8080}) {
		t.Errorf("directions and ways: %+v and %+v", at[0], there[0])
	}
	linkA, linkB := a.plane.link(at[0].Link), b.plane.link(there[0].Link)
	if linkA.There != linkB.Here || linkB.There != linkA.Here || linkA.Remote != b.c.Listen.Addr() || linkB.Remote != a.c.Listen.Addr() {
		t.Errorf("links %+v and %+v", linkA, linkB)
	}
	if name, ok := a.Reverse(hostA, answer.Address); !ok || name != "hostb.b.example." {
		t.Errorf("reverse: %q, %t", name, ok)
	}
	if name, ok := b.Reverse(hostB, there[0].Proxy); !ok || name != "hosta.a.example." {
		t.Errorf("reverse behind the other: %q, %t", name, ok)
	}
	again, err := a.find(t, "hostb.b.example.")
	if err != nil || again.Address != answer.Address || len(b.plane.all()) != 1 {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// Both keys of a link are the same at both ends, and those of the directions differ.
func TestKeysOfALink(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	if _, err := a.find(t, "hostb.b.example."); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]*fakePlane{{a.plane, b.plane}, {b.plane, a.plane}} {
		matched := 0
		for name, key := range pair[0].allKeys() {
			if name[2:6] != "true" {
				continue
			}
			if other, is := pair[1].allKeys()["1 false "+name[7:]]; is && other == key {
				matched++
			}
		}
		if matched == 0 {
			t.Errorf("no key to send with is one to receive with: %v and %v", pair[0].allKeys(), pair[1].allKeys())
		}
	}
}

// The second direction widens the pact that stands: the same address stands for the name, both ways.
func TestBothDirectionsAreOnePact(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	if _, err := a.find(t, "hostb.b.example."); err != nil {
		t.Fatal(err)
	}
	answer, err := b.find(t, "hosta.a.example.")
	if err != nil {
		t.Fatal(err)
	}
	at, there := a.plane.all(), b.plane.all()
	if len(at) != 1 || len(there) != 1 || !at[0].In || !at[0].Out || !there[0].In || !there[0].Out || answer.Address != there[0].Proxy {
		t.Errorf("pacts %+v and %+v, answer %+v", at, there, answer)
	}
}

// Every refusal is answered, says why, keeps nothing, and the next question starts anew.
func TestRefusedIsAnswered(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		about  string
		name   model.Name
		change func(a, b *testEdge)
		code   uint16
		text   string
	}{
		{"no rule lets it in", "hostb.b.example.", func(_, b *testEdge) { b.c.In = nil }, 18, "edge edge.b.example. refuses: policy"},
		{"a rule denies it", "hostb.b.example.", func(_, b *testEdge) {
			b.c.In = []settings.Rule{{From: []model.Name{"*"}, To: []model.Name{"*"}, Deny: true}}
		}, 18, "edge edge.b.example. refuses: policy"},
		{"unknown name", "other.b.example.", nil, 18, "edge edge.b.example. refuses: unknown_name"},
		{"closed host", "hostb.b.example.", func(_, b *testEdge) { b.names["hostb.b.example."] = fakeHost{address: hostB} }, 18, "edge edge.b.example. refuses: closed_service"},
		{"nothing in common", "hostb.b.example.", func(a, _ *testEdge) {
			a.c.Out[0].Require.Services = []model.Port{{Protocol: model.TCP, Port: 443, To: 443}}
		}, 18, "edge edge.b.example. refuses: services"},
		{"confidential", "hostb.b.example.", func(a, b *testEdge) {
			a.c.Out[0].Require.Confidential, b.c.In[0].Require.Confidential = "yes", "no"
		}, 18, "edge edge.b.example. refuses: confidential"},
		{"encryption, which nobody has", "hostb.b.example.", func(a, _ *testEdge) { a.c.Out[0].Require.Confidential = "yes" }, 18, "edge edge.b.example. refuses: confidential"},
		{"encryption there", "hostb.b.example.", func(_, b *testEdge) { b.c.In[0].Require.Confidential = "yes" }, 18, "edge edge.b.example. refuses: confidential"},
		{"our own rule", "hostb.b.example.", func(a, _ *testEdge) { a.c.Out = nil }, 15, "edges.out does not let hosta.a.example. reach hostb.b.example."},
		{"no name told", "hostb.b.example.", func(a, b *testEdge) {
			a.c.Out[0].Offer.Name, b.c.In[0].Require.Name = "edge", "full"
		}, 18, "edge edge.b.example. asks for more than edges.out offers"},
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			a, b := newPair(t, test.change)
			for range 2 {
				_, err := a.find(t, test.name)
				var said *nameserver.AbroadError
				if !errors.As(err, &said) || said.Code != test.code || said.Text != test.text || !said.Refused {
					t.Errorf("%+v", err)
				}
			}
			if len(a.plane.all())+len(b.plane.all()) > 0 || a.pacts.Usage().Pacts+b.pacts.Usage().Pacts > 0 {
				t.Errorf("something was kept: %+v, %+v", a.plane.all(), b.plane.all())
			}
		})
	}
}

// A peer that does not answer costs one question its time, and no other; whose fallback is the realm gateway's answers so.
func TestUnreachedPeer(t *testing.T) {
	t.Parallel()
	for _, legacy := range []bool{false, true} {
		a, _ := newPair(t, func(a, b *testEdge) {
			a.c.Peers[0].Address, a.c.Peers[0].Legacy = a.c.Listen, legacy // nobody is there
			a.c.Wait = 200 * time.Millisecond
			b.c.Peers[0].Address = b.c.Listen
		})
		for range 2 {
			_, err := a.find(t, "hostb.b.example.")
			var said *nameserver.AbroadError
			if legacy != errors.Is(err, nameserver.ErrNotAbroad) || !legacy && (!errors.As(err, &said) || said.Code != 23 || said.Refused) {
				t.Errorf("%t: %v", legacy, err)
			}
		}
		if n := a.pacts.Usage().Pacts; n != 0 {
			t.Errorf("%d pacts", n)
		}
	}
}

// Only zones of peers are asked for, label by label, and those excepted are not.
func TestOwns(t *testing.T) {
	t.Parallel()
	a, _ := newPair(t, func(a, _ *testEdge) { a.c.Except = []model.Name{"cdn.b.example."} })
	for name, want := range map[model.Name]bool{
		"b.example.": true, "hostb.b.example.": true, "evilb.example.": false, "cdn.b.example.": false, "x.cdn.b.example.": false, "hosta.a.example.": false,
	} {
		a.mu.Lock() // which it does not wait for
		got := a.Owns(name)
		a.mu.Unlock()
		if got != want {
			t.Errorf("%s: %t", name, got)
		}
		if _, err := a.find(t, name); !want && !errors.Is(err, nameserver.ErrNotAbroad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
