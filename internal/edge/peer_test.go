package edge

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

const (
	edgeB = model.Name("edge.b.example.")
)

// linked makes a pair whose link is up on both sides, with a pact.
func linked(t *testing.T) (a, b *testEdge) {
	t.Helper()
	a, b = newPair(t, nil)
	if _, err := a.find(t, "hostb.b.example."); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// Of a peer that is removed nothing is left: no link in the data plane, no record, and its number is another's.
func TestRemovedPeer(t *testing.T) {
	t.Parallel()
	a, _ := linked(t)
	a.reload(t, func(c *settings.Edges) { c.Peers = nil })
	life{a.Service}.flush()
	if l := a.plane.link(1); l.Number != 0 {
		t.Errorf("in the data plane: %+v", l)
	}
	if r, err := readKept(a.kept); err != nil || len(r.links) > 0 {
		t.Errorf("on the disk: %+v, %v", r.links, err)
	}
	a.reload(t, func(c *settings.Edges) {
		c.Peers = []settings.Peer{{Name: "edge.c.example.", Zones: []model.Name{"c.example."}}}
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.peerNamed("edge.c.example."); p.number != 1 {
		t.Errorf("the next has number %d", p.number)
	}
	a.Links = 1
	if p := a.newPeer("edge.d.example."); p != nil {
		t.Errorf("and one more %d", p.number)
	}
}

// A reload of the MTU is followed at once.
func TestReloadOfTheMTU(t *testing.T) {
	t.Parallel()
	a, _ := linked(t)
	far{a.Service}.MTU(edgeB, 1400)
	a.reload(t, func(c *settings.Edges) { c.MTU = 1300 })
	if l := a.plane.link(1); l.MTU != 1300 {
		t.Errorf("%d octets", l.MTU)
	}
}

// fakeKeys are those of a connection.
type fakeKeys struct{}

func (fakeKeys) Key(bool, uint8) ([16]byte, error) { return [16]byte{9}, nil }
func (fakeKeys) Said() wire.Hello                  { return wire.Hello{} }

// Handshakes that come to nothing leave the key in force where it is, of two.
func TestFailedHandshakesLeaveTheKey(t *testing.T) {
	t.Parallel()
	a, _ := linked(t)
	a.mu.Lock()
	now := a.peerNamed(edgeB).epoch
	a.mu.Unlock()
	for range 3 {
		said, err := far{a.Service}.hello(edgeB, fakeKeys{})
		if err != nil || said.Epoch != (now+1)%epochs {
			t.Errorf("epoch %d, %v, in force is %d", said.Epoch, err, now)
		}
	}
}

// A pact that the data plane does not let go has no rest yet, and ends as soon as it does.
func TestPactsEndLater(t *testing.T) {
	t.Parallel()
	a, _ := linked(t)
	rests := func() (n int) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for p := range a.pacts.All() {
			if p.State == pact.Resting {
				n++
			}
		}
		return n
	}
	a.mu.Lock()
	a.plane.setFailEnd(errors.New("no"))
	life{a.Service}.endAll(func(pact.Pact) bool { return true }, "test")
	a.mu.Unlock()
	if n := rests(); n > 0 {
		t.Error("its address rests while packets pass")
	}
	a.plane.setFailEnd(nil)
	life{a.Service}.tend()
	if left := a.plane.all(); len(left) > 0 || rests() != 1 {
		t.Errorf("%+v, %d rest", left, rests())
	}
}

// A port that somebody has stops no daemon: it is tried again, and pacts are tended meanwhile.
func TestListenFailsAtFirst(t *testing.T) {
	t.Parallel()
	failed := 0
	a, _ := newPair(t, func(a, _ *testEdge) {
		listen := a.Listen
		a.Listen = func(at netip.AddrPort) (net.Listener, error) {
			if failed++; failed < 3 {
				return nil, errors.New("address already in use")
			}
			return listen(at)
		}
		a.Retry = time.Millisecond
	})
	if _, err := a.find(t, "hostb.b.example."); err != nil || failed < 3 {
		t.Errorf("%v, after %d attempts", err, failed)
	}
}
