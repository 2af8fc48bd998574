package web

import (
	"fmt"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
)

func resent(data string) string { return fmt.Sprintf("replay %q x1", data) }

// asking is one with a connection whose host is asked, and of which this comes before the host answers.
func asking(t *testing.T, before ...datapath.WebEvent) *bed {
	t.Helper()
	b := newBed(t)
	b.hears(first(request), "answer 10.0.0.100:8080", fmt.Sprintf("replay %q x2", request))
	for _, e := range before {
		b.hears(e)
	}
	return b
}

// Frames are sent again in their client's order. The data plane keeps that for a while.
func TestFramesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	n := uint32(len(request))
	b := asking(t, later(n+4, "more"), later(n, "body"))
	b.hears(about(datapath.WebOpened, ""), resent(request), resent("body"), resent("more"))
	b.hears(later(n+8, "last"), resent("last"))
	b.waits(orderTime - 1)
	b.waits(1, "forget")
	b.hears(later(n+12, "."), resent("."))
	b.waits(restTime)
}

// The data plane keeps no order of a connection of which one octet never comes, and whatever follows comes back for that.
func TestOrderOfABrokenConnection(t *testing.T) {
	t.Parallel()
	b := asking(t)
	b.hears(about(datapath.WebOpened, ""), resent(request))
	beyond := later(uint32(len(request))+1, "more")
	for range mostFrames - 1 {
		b.hears(beyond, resent("more"))
	}
	b.hears(beyond, resent("more"), "forget")
	b.waits(orderTime)
	for range mostFrames + 1 {
		b.hears(beyond, resent("more"))
	}
	b.hears(beyond) // its session is over, or it would not come back
}
