package machine

import (
	"testing"

	"github.com/vishvananda/netlink"
)

// Who does not answer is asked again for as long as packets come, and does not answer meanwhile either.
func TestWhoIsAskedDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for state, want := range map[int]bool{
		netlink.NUD_NONE: true, netlink.NUD_INCOMPLETE: false, netlink.NUD_REACHABLE: true, netlink.NUD_STALE: true, netlink.NUD_DELAY: true,
		netlink.NUD_PROBE: true, netlink.NUD_FAILED: false, netlink.NUD_NOARP: true, netlink.NUD_PERMANENT: true,
	} {
		if got := answers(state); got != want {
			t.Errorf("state %#x: %v, want %v", state, got, want)
		}
	}
}
