package allocation

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

func (w *world) states() string {
	w.t.Helper()
	m, err := w.PoolMap()
	if err != nil {
		w.t.Fatal(err)
	}
	return m.States
}

// An address is shown as what it is used for, from free to resting and back.
func TestRingStates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, webs(2))
	if got := w.states(); got != "bbff" {
		t.Errorf("at the start: %s", got)
	}
	w.mustAsk(client, web(1))
	if got := w.states(); got != "obff" {
		t.Errorf("answered: %s", got)
	}
	w.claim()
	b, _ := w.pool.Standing(web(1).Name)
	w.plane.sessions[b.ID], w.plane.used[b.ID] = 1, w.now
	if got := w.states(); got != "cbff" {
		t.Errorf("claimed: %s", got)
	}
	w.plane.sessions[b.ID] = 0
	if got := w.states(); got != "cbff" {
		t.Errorf("left just now: %s", got)
	}
	w.now = w.now.Add(lingers)
	if got := w.states(); got != "rbff" {
		t.Errorf("left: %s", got)
	}
	w.now = w.now.Add(rest + time.Second)
	if got := w.states(); got != "bbff" {
		t.Errorf("rested: %s", got)
	}
	w.mustAsk(client, web(2))
	w.now = w.now.Add(3 * time.Second)
	if got := w.states(); got != "brff" {
		t.Errorf("nobody came: %s", got)
	}
	w.services = webs(1)
	if err := w.Configure(w.config()); err != nil {
		t.Fatal(err)
	}
	if got := w.states(); got != "brff" {
		t.Errorf("its service is gone: %s", got)
	}
}

// What changes is told once, with what a map needs to follow; other addresses are a reason to begin anew.
func TestRingChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 64, webs(64))
	change := func() api.PoolChange {
		t.Helper()
		c, err := w.poolChange()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := change(); c.Number != 1 || len(c.At) != 0 || len(c.States) != 64 {
		t.Errorf("at first: %+v", c)
	}
	if c := change(); c.Number != 0 {
		t.Errorf("without a change: %+v", c)
	}
	w.mustAsk(client, web(3))
	b, _ := w.pool.Standing(web(3).Name)
	m, err := w.PoolMap() // who asks for it takes nothing from those who listen
	if err != nil || m.Number != 1 || m.States[b.Address.As4()[3]] != 'o' || m.Offer != 2 || m.Rest != rest.Seconds() {
		t.Errorf("%+v, %v", m, err)
	}
	if c := change(); c.Number != 2 || len(c.At) != 1 || c.At[0] != int(b.Address.As4()[3]) || c.States != "o" {
		t.Errorf("one: %+v", c)
	}
	for n := 10; n < 30; n++ {
		w.mustAsk(client, web(n))
	}
	if c := change(); c.Number != 3 || len(c.At) != 0 || len(c.States) != 64 {
		t.Errorf("many: %+v", c)
	}
	w.size = 8
	if err := w.Configure(w.config()); err != nil {
		t.Fatal(err)
	}
	if c := change(); c.Number != 4 || !c.Anew || c.States != "" {
		t.Errorf("other addresses: %+v", c)
	}
	if m, err := w.PoolMap(); err != nil || len(m.States) != 8 || m.Number != 4 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	var list []netip.Addr
	for _, a := range []string{"198.18.0.255", "198.18.1.0", "198.18.1.1", "192.0.2.1", "192.0.2.3"} {
		list = append(list, netip.MustParseAddr(a))
	}
	got := rangesOf(list)
	if len(got) != 3 || got[0] != (api.PoolRange{First: list[0], Count: 3}) || got[1].Count != 1 || got[2].First != list[4] {
		t.Errorf("%+v", got)
	}
	if got := rangesOf(nil); got == nil || len(got) != 0 {
		t.Errorf("of none: %v", got)
	}
}
