package connlimit

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// anew is the packet as the first of its connection that the function hears of, though it was open before.
func anew(p nf.Packet) nf.Packet {
	p.Hook = uint8(connlimitNfHookNF_HOOK_FLOW)
	return p
}

// A connection that was open before the function, or before the daemon, is checked anew with its next packet, of whichever
// end. From then on it counts by what it shows; none is refused.
func TestOpenConnectionsAreTakenUp(t *testing.T) {
	t.Parallel()
	b := newBed(t, ConnLimit{Connections: 2, Idle: idle, Entries: int(ways)})
	dry, failure := anew(flow(7, 1)), anew(answering(flow(7, 1)))
	dry.Dry, failure.Error = 1, 1
	b.changesNothing(dry, nf.Accept)
	b.wants("an error", failure, nf.Accept)
	b.wants("a packet of one that was checked", flow(7, 1), nf.Accept)
	for _, flags := range []uint8{fin | ack, rst} {
		b.wants("an end", anew(ending(flow(7, 1), flags)), nf.Accept)
		b.wants("an end by the other", anew(answering(ending(flow(7, 2), flags))), nf.Accept)
	}
	if n := b.taken(); n != 0 {
		t.Errorf("%d are taken up", n)
	}
	b.wants("one end", anew(guessed(flow(7, 1))), nf.Accept)
	b.wants("the other end of another", anew(answering(flow(7, 2))), nf.Accept)
	b.wants("one more", anew(flow(7, 3)), nf.Accept)
	b.wants("one too many", opening(flow(7, 4)), nf.Drop)
	b.wants("the first goes on", flow(7, 1), nf.Accept)
	b.pass(late)
	b.wants("in the place of the second", opening(flow(7, 4)), nf.Accept)
	b.wants("one too many, later", opening(flow(7, 5)), nf.Drop)
	for source := range ways - 1 {
		b.shakesHands(flow(100+source, 1))
	}
	b.wants("one whose source has no place", anew(flow(8, 1)), nf.Accept)
}

// What shows that it is open counts as open at once: of TCP by a proof, of others by an answer. A further check changes nothing.
func TestTakenUpAsOpen(t *testing.T) {
	t.Parallel()
	answered := answering(flow(7, 1))
	answered.Protocol, answered.TcpFlags, answered.Proves = uint8(model.UDP), 0, 0
	for _, p := range []nf.Packet{flow(7, 1), answered} {
		b := newBed(t, ConnLimit{Connections: 1, Idle: idle, Entries: 1024})
		b.wants("one that is open", anew(p), nf.Accept)
		b.pass(late)
		b.wants("one too many", opening(flow(7, 2)), nf.Drop)
		b.wants("by a guess", anew(guessed(flow(7, 1))), nf.Accept)
		b.pass(late)
		b.wants("one too many, still", opening(flow(7, 2)), nf.Drop)
	}
}

// An ICMP error is no packet of the connection that it is about: neither end needs to have sent it.
func TestErrorsAreNoAnswers(t *testing.T) {
	t.Parallel()
	b := newBed(t, ConnLimit{Connections: 1, Idle: idle, Entries: 1024})
	probe := flow(7, 1)
	probe.Protocol, probe.TcpFlags, probe.Proves = uint8(model.UDP), 0, 0
	first, exceeded := probe, answering(probe)
	first.Opens, exceeded.Error = 1, 1
	b.wants("a probe", first, nf.Accept)
	b.wants("its time is exceeded", exceeded, nf.Accept)
	b.pass(late)
	b.shakesHands(flow(7, 2))
	b.pass(late)
	b.wants("one too many", opening(flow(7, 3)), nf.Drop)
}

// A shorter idle time holds at once for what was counted with a longer one.
func TestIdleBecomesShorter(t *testing.T) {
	t.Parallel()
	b := newBed(t, ConnLimit{Connections: 1, Idle: idle, Entries: int(ways)})
	for source := range ways {
		b.shakesHands(flow(source, 1))
	}
	b.program = b.Only(ConnLimit{Connections: 1, Idle: time.Minute, Entries: int(ways)})
	b.wants("one speaks", flow(0, 1), nf.Accept)
	b.wants("one too many of it", opening(flow(0, 2)), nf.Drop)
	b.wants("another, as it is silent", opening(flow(1, 2)), nf.Accept)
	for source := range ways - 1 {
		b.shakesHands(flow(100+source, 1))
	}
	b.wants("not in the place of who spoke", opening(flow(200, 1)), nf.Drop)
	b.pass(2 * time.Minute)
	b.shakesHands(flow(200, 1))
}

// The other end ends a connection by what it proves; anybody may have sent another end, and it is as one of the source.
func TestUnprovedEndIsNoEnd(t *testing.T) {
	t.Parallel()
	for _, flags := range []uint8{fin | ack, rst} {
		b := newBed(t, ConnLimit{Connections: 1, Idle: idle, Entries: 1024})
		forged, refused := answering(guessed(ending(flow(7, 1), flags))), answering(guessed(ending(flow(7, 2), flags)))
		b.shakesHands(flow(7, 1))
		b.wants("a forged end", forged, nf.Accept)
		b.wants("one too many", opening(flow(7, 2)), nf.Drop)
		b.wants("it goes on", flow(7, 1), nf.Accept)
		b.pass(late)
		b.wants("one too many, later", opening(flow(7, 2)), nf.Drop)
		b.wants("an end that may be real", forged, nf.Accept)
		b.wants("the same", forged, nf.Accept)
		b.pass(late)
		b.wants("a SYN", opening(flow(7, 2)), nf.Accept)
		b.wants("it is refused", refused, nf.Accept)
		b.shakesHands(flow(7, 3))
	}
}

// A source's record is kept as long as a connection of it counts that is open, or that it ends, and not longer.
func TestEndsKeepTheirRecord(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		ends  []uint16
		after time.Duration // from the last packets on
	}{
		"the only one of it":               {[]uint16{1}, 0},
		"both":                             {[]uint16{1, 2}, 0},
		"one, later than the other speaks": {[]uint16{1}, idle - time.Second},
	} {
		b := newBed(t, ConnLimit{Connections: 2, Idle: idle, Entries: int(ways)})
		for source := range ways {
			b.shakesHands(flow(source, 1))
			if what != "the only one of it" {
				b.shakesHands(flow(source, 2))
			}
		}
		b.pass(c.after)
		for source := range ways {
			for _, connection := range c.ends {
				b.wants(what+": the end", ending(flow(source, connection), rst), nf.Accept)
			}
		}
		b.pass(late / 2)
		b.wants(what+": one source too many", opening(flow(ways, 1)), nf.Drop)
		b.pass(late / 2)
		for source := range ways {
			b.wants(what+": another source", opening(flow(100+source, 1)), nf.Accept)
			b.shakesHands(flow(100+source, 1))
		}
	}
}

// A chain has room for as many as functions: the verifier looks at a million instructions at most.
func TestTenLoad(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	steps := make([]nf.Step, 10)
	for i := range steps {
		steps[i] = nf.Step{Number: uint32(i + 1), Function: ConnLimit{Connections: most, Idle: idle, Entries: int(ways)}}
	}
	b.Put(nf.Chain{Name: "it", Rules: []nf.Rule{{}}, Steps: steps})
}
