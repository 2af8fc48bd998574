package web

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
)

// That the places are full is told once, and that they are not after ten seconds in which all were heard.
func TestPressure(t *testing.T) {
	t.Parallel()
	var p pressure
	now := model.Instant(1)
	for i, c := range []struct {
		after        time.Duration
		frames       uint64
		begins, ends bool
		unheard      uint64
	}{
		{0, 0, false, false, 0},
		{time.Hour, 3, true, false, 3},
		{time.Second, 5, false, false, 5},
		{calmFor - 1, 5, false, false, 5},
		{0, 6, false, false, 6},
		{calmFor - 1, 6, false, false, 6},
		{1, 6, false, true, 6},
		{time.Hour, 6, false, false, 6},
		{time.Second, 7, true, false, 1},
	} {
		now = now.Add(c.after)
		if begins, ends := p.look(c.frames, now); begins != c.begins || ends != c.ends || p.unheard != c.unheard {
			t.Errorf("look %d: begins %v, ends %v, %d not heard", i, begins, ends, p.unheard)
		}
	}
}

// emitted are events.
type emitted []event.Event

func (e *emitted) Emit(one event.Event) { *e = append(*e, one) }

// The events tell how many wait, and how many frames were not heard.
func TestPressureIsTold(t *testing.T) {
	t.Parallel()
	b, told := newBed(t), &emitted{}
	s := New(Options{Events: told})
	s.table, s.quic = b.table, newAttempts(b.table)
	s.tellPressure(b.now)
	for port := range uint16(mostOfSource + 2) {
		b.says(netip.AddrPortFrom(visitor.Addr(), 1+port), datapath.WebFirst, 0, "GET")
	}
	s.tellPressure(b.now)
	s.tellPressure(b.now.Add(calmFor))
	if want := (emitted{event.WebFull{Waiting: mostOfSource}, event.WebRecovered{Unheard: 2}}); !slices.Equal(*told, want) {
		t.Errorf("told were %+v, want %+v", *told, want)
	}
}
