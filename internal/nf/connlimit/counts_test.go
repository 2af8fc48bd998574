package connlimit

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
)

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

// A connection that its source says it ends keeps the source's record as long as it counts.
func TestEndKeepsItsRecord(t *testing.T) {
	t.Parallel()
	b := newBed(t, ConnLimit{Connections: 1, Idle: idle, Entries: int(ways)})
	for source := range ways {
		b.shakesHands(flow(source, 1))
		b.wants("its end", ending(flow(source, 1), rst), nf.Accept)
	}
	b.wants("one source too many", opening(flow(ways, 1)), nf.Drop)
	b.wants("another of the last", opening(flow(ways-1, 2)), nf.Drop)
	b.pass(late)
	b.shakesHands(flow(ways, 1))
}
