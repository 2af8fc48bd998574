package ask

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/events/event"
	nfask "github.com/realmgate/realmgate/internal/nf/ask"
)

// told are the kinds of events, in order.
type told struct{ kinds []event.Kind }

func (e *told) Emit(of event.Event) { e.kinds = append(e.kinds, of.Kind()) }

// A function that a reload takes away has no program that is missed any more: whoever was told of it is told that, too. What a stop
// of the daemon ends is as it was.
func TestRemovedWhileItsProgramIsAway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stops bool
		want  []event.Kind
	}{
		"a reload": {false, []event.Kind{"program_failed", "program_recovered"}},
		"a stop":   {true, []event.Kind{"program_failed"}},
	} {
		ctx, stop := context.WithCancel(t.Context())
		events := &told{}
		a := newAsker("web/ask", nfask.Settings{Socket: "/nowhere", Timeout: time.Second})
		a.start(ctx, &Options{Events: events, Log: slog.New(slog.DiscardHandler)})
		a.lost(errors.New("nobody listens"))
		a.lost(errors.New("nobody listens"))
		if c.stops {
			stop()
		}
		a.end()
		stop()
		if !slices.Equal(events.kinds, c.want) {
			t.Errorf("%s: told are %v, want %v", name, events.kinds, c.want)
		}
	}
}
