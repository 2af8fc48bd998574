package ask

import (
	"net/netip"

	nfask "github.com/realmgate/realmgate/internal/nf/ask"
)

// Bounds of what waits for a verdict, so that nobody takes the places of others. What is beyond them is not heard: its sender
// sends it again.
const (
	mostFlows     = 4096
	mostOfSource  = 128
	mostOfNetwork = 512 // a /24

	mostOctets          = 16 << 20 // of all frames and streams
	mostOctetsOfNetwork = 4 << 20
)

// share is what the flows that wait of somebody have.
type share struct{ flows, octets int }

// sourcesOf are whose flow it is: an address and its network.
func sourcesOf(f nfask.Flow) [2]netip.Prefix {
	source := f.Source.Addr()
	return [2]netip.Prefix{netip.PrefixFrom(source, 32), netip.PrefixFrom(source, 24).Masked()}
}

// change counts flows and octets that wait more, or less.
func (t *table) change(f *flow, flows, octets int) {
	for _, of := range sourcesOf(f.of) {
		s := t.sources[of]
		s.flows, s.octets = s.flows+flows, s.octets+octets
		t.sources[of] = s
		if s == (share{}) {
			delete(t.sources, of)
		}
	}
	f.octets += octets
	t.waits, t.octets = t.waits+flows, t.octets+octets
}

// hasRoom reports whether one more flow may wait.
func (t *table) hasRoom(f nfask.Flow) bool {
	of := sourcesOf(f)
	return t.waits < mostFlows && t.octets < mostOctets && t.sources[of[0]].flows < mostOfSource &&
		t.sources[of[1]].flows < mostOfNetwork && t.sources[of[1]].octets < mostOctetsOfNetwork
}

// hasOctets reports whether a flow may have so many octets more. Its first frame has been let in with it.
func (t *table) hasOctets(f *flow, octets int) bool {
	return len(f.packets) == 0 ||
		t.octets+octets <= mostOctets && t.sources[sourcesOf(f.of)[1]].octets+octets <= mostOctetsOfNetwork
}

// leave gives up the places of one that waits no more.
func (t *table) leave(f *flow) {
	if !f.over {
		t.change(f, -1, -f.octets)
	}
}
