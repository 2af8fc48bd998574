package trafficgen

import (
	"net/netip"
	"strings"
	"testing"
)

func tcpPlan(sourcePorts, destinationPorts, length int) Plan {
	flows := Flows{
		Sources: Addresses{netip.MustParseAddr("10.0.0.2"), 1}, SourcePorts: SourcePorts.Some(sourcePorts),
		Destinations: Addresses{netip.MustParseAddr("198.19.0.2"), 1}, DestinationPorts: DestinationPorts.Some(destinationPorts),
	}
	return Plan{Flows: flows, TCP: true, Window: 100, Frames: flows.Count() * TCPSteps, Length: length, Epoch: 1}
}

func TestPlansOfTCPSessions(t *testing.T) {
	if err := tcpPlan(60000, 100, 64).check(); err != nil {
		t.Errorf("6 million sessions of 64 octets: %v", err)
	}
	endless, short := tcpPlan(10, 1, 64), tcpPlan(10, 1, 64)
	endless.Window = 0
	short.Frames--
	for name, c := range map[string]struct {
		plan Plan
		want string
	}{
		"no window":                   {endless, "need a window"},
		"a session that does not end": {short, "want 10 of each"},
		// 1460 octets of data take 11 of 31 bits.
		"more than sequence numbers can name": {tcpPlan(60000, 20, 1518), "at most 1048576"},
	} {
		if err := c.plan.check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// A session's sequence numbers end before the next one's begin.
func TestTCPSessionsDoNotOverlap(t *testing.T) {
	for length := 64; length <= 1518; length++ {
		data := length - 4 - 54
		if last, shift := data+2, (Plan{Length: length}).tcpShift(); last >= 1<<shift || last < 1<<(shift-1) {
			t.Errorf("frames of %d octets: the last sequence number is %d, with %d bits for it", length, last, shift)
		}
	}
}
