package connlimit

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

const (
	fin, syn, rst, ack = 0x01, 0x02, 0x04, 0x10
	idle               = time.Hour // so that what a test takes is nothing
	late               = 11 * time.Second
)

// flow is a packet of a source's connection, by their numbers.
func flow(source uint32, connection uint16) nf.Packet {
	return nf.Packet{
		Source: source, SourcePort: connection, Destination: 1, DestinationPort: 2, Protocol: uint8(model.TCP), Direction: uint8(model.In),
		TcpFlags: ack, Length: 40, Segments: 1, Proves: 1, Hook: uint8(connlimitNfHookNF_HOOK_PACKET),
	}
}

func opening(p nf.Packet) nf.Packet {
	p.Opens, p.TcpFlags, p.Proves = 1, syn, 0
	return p
}

func ending(p nf.Packet, flags uint8) nf.Packet {
	p.TcpFlags = flags
	return p
}

// guessed is the same packet by somebody who sees nothing of the connection.
func guessed(p nf.Packet) nf.Packet {
	p.Proves = 0
	return p
}

// answering is the same packet by the other end.
func answering(p nf.Packet) nf.Packet {
	p.Answers = 1
	return p
}

// bed is one function in the kernel, with its table.
type bed struct {
	*nftest.Bed
	program *ebpf.Program
	table   *ebpf.Map
}

func newBed(t *testing.T, l ConnLimit) *bed {
	t.Helper()
	b := nftest.New(t)
	program := b.Only(l)
	return &bed{b, program, b.Table(program, connlimitMapConnlimitTable)}
}

func (b *bed) wants(what string, p nf.Packet, want nf.Verdict) {
	b.T.Helper()
	if got := b.Ask(b.program, p).Verdict; got != want {
		b.T.Errorf("%s: %v, want %v", what, got, want)
	}
}

// shakesHands opens a connection.
func (b *bed) shakesHands(p nf.Packet) {
	b.T.Helper()
	b.wants("a SYN", opening(p), nf.Accept)
	b.wants("its answer", answering(ending(p, syn|ack)), nf.Accept)
	b.wants("the answer to that", p, nf.Accept)
}

// pass lets time go by.
func (b *bed) pass(d time.Duration) {
	b.T.Helper()
	for n := range b.table.MaxEntries() {
		var bucket connlimitConnlimitBucket
		if err := b.table.Lookup(n, &bucket); err != nil {
			b.T.Fatal(err)
		}
		for i := range bucket.Slot {
			bucket.Kept[i] -= uint32(d / tick)
			for j := range bucket.Slot[i] {
				bucket.Slot[i][j].Until -= uint32(d / tick)
			}
		}
		if err := b.table.Put(n, &bucket); err != nil {
			b.T.Fatal(err)
		}
	}
}

// A source has so many; the end of one, or its silence, makes room for another, and others have their own.
func TestEachSourceHasItsOwn(t *testing.T) {
	t.Parallel()
	b := newBed(t, ConnLimit{Connections: 2, Idle: idle, Entries: 1024})
	for connection := range uint16(2) {
		b.shakesHands(flow(7, connection))
	}
	b.wants("one too many", opening(flow(7, 2)), nf.Drop)
	b.wants("a packet of one that is open", flow(7, 1), nf.Accept)
	b.wants("a packet of one that never opened", flow(7, 2), nf.Accept)
	b.wants("another source", opening(flow(8, 2)), nf.Accept)
	for connection, flags := range []uint8{fin, rst} {
		b.wants("the end", answering(ending(flow(7, uint16(connection)), flags)), nf.Accept)
		b.shakesHands(flow(7, uint16(10+connection)))
		b.wants("and no other", opening(flow(7, 20)), nf.Drop)
	}
	b.pass(idle / 2)
	b.wants("one speaks", flow(7, 10), nf.Accept)
	b.pass(idle/2 + time.Minute)
	b.wants("in the place of the silent one", opening(flow(7, 21)), nf.Accept)
	b.wants("not in that of the other", opening(flow(7, 22)), nf.Drop)
	if n := b.Count(1); n.Failed != 0 {
		b.T.Errorf("%d failures", n.Failed)
	}
}

// Packets of which nobody knows who sent them hold a place for a short time only, though the other end answers them.
func TestHalfOpenCountsBriefly(t *testing.T) {
	t.Parallel()
	b := newBed(t, ConnLimit{Connections: 3, Idle: idle, Entries: 1024})
	echo := flow(7, 3)
	echo.Protocol, echo.TcpFlags = uint8(model.ICMP), 0
	first := echo
	first.Opens = 1
	b.wants("a SYN", opening(flow(7, 1)), nf.Accept)
	b.wants("its end", ending(flow(7, 1), rst), nf.Accept)
	b.wants("an ACK of nothing", guessed(flow(7, 1)), nf.Accept)
	b.wants("another", opening(flow(7, 2)), nf.Accept)
	b.wants("its answer", answering(ending(flow(7, 2), syn|ack)), nf.Accept)
	b.wants("the SYN again", guessed(ending(flow(7, 2), syn)), nf.Accept)
	b.wants("a guessed ACK", guessed(flow(7, 2)), nf.Accept)
	b.wants("what the other end says to that", answering(flow(7, 2)), nf.Accept)
	b.wants("a later fragment", guessed(ending(flow(7, 2), 0)), nf.Accept)
	b.wants("a question", first, nf.Accept)
	b.wants("one too many", opening(flow(7, 4)), nf.Drop)
	b.pass(late)
	b.wants("its answer", answering(echo), nf.Accept)
	b.shakesHands(flow(7, 4))
	b.shakesHands(flow(7, 5))
	b.pass(late)
	b.wants("one too many, all answered", opening(flow(7, 6)), nf.Drop)
}

// Who opened a connection may say that it ends, and go on: it counts for a short time, and again with the next packet.
func TestOwnEndIsNoEnd(t *testing.T) {
	t.Parallel()
	for _, flags := range []uint8{fin | ack, rst} {
		b := newBed(t, ConnLimit{Connections: 1, Idle: idle, Entries: 1024})
		b.shakesHands(flow(7, 1))
		b.wants("an end", ending(flow(7, 1), flags), nf.Accept)
		b.wants("one too many", opening(flow(7, 2)), nf.Drop)
		b.wants("it goes on", flow(7, 1), nf.Accept)
		b.pass(late)
		b.wants("one too many, later", opening(flow(7, 2)), nf.Drop)
		b.wants("an end", ending(flow(7, 1), flags), nf.Accept)
		b.wants("what the other end had sent", answering(flow(7, 1)), nf.Accept)
		b.pass(late)
		b.shakesHands(flow(7, 2))
	}
}

// What the kernel counts is what a plain list of connections does.
func TestCountsAsAPlainList(t *testing.T) {
	t.Parallel()
	const most = 3
	b := newBed(t, ConnLimit{Connections: most, Idle: idle, Entries: 1024})
	rapid.Check(t, func(rt *rapid.T) {
		for n := range b.table.MaxEntries() {
			if err := b.table.Put(n, &connlimitConnlimitBucket{}); err != nil {
				rt.Fatal(err)
			}
		}
		type connection struct {
			source uint32
			number uint16
		}
		last, now := map[connection]time.Duration{}, time.Duration(0)
		open := func(source uint32) (n int) {
			for c, at := range last {
				if c.source == source && now-at <= idle {
					n++
				}
			}
			return n
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			c := connection{rapid.Uint32Range(1, 2).Draw(rt, "source"), rapid.Uint16Range(0, 5).Draw(rt, "connection")}
			at, known := last[c]
			if known && now-at > idle {
				continue // whether it may come back depends on who has taken its place
			}
			p, want := flow(c.source, c.number), nf.Accept
			switch rapid.SampledFrom([]string{"open", "packet", "end", "wait"}).Draw(rt, "what") {
			case "open":
				p = opening(p)
				if !known && open(c.source) == most {
					want = nf.Drop
				} else {
					last[c] = now
				}
			case "packet":
				if known {
					last[c] = now
				}
			case "end":
				p = ending(answering(p), rapid.SampledFrom([]uint8{fin, rst}).Draw(rt, "flags"))
				delete(last, c)
			case "wait":
				now += idle/4 + time.Minute
				b.pass(idle/4 + time.Minute)
				continue
			}
			if got := b.Ask(b.program, p).Verdict; got != want {
				rt.Fatalf("%+v of %+v at %v: %v, want %v", p, c, now, got, want)
			}
			if p.Opens == 1 && want == nf.Accept {
				b.shakesHands(flow(c.source, c.number))
			}
		}
	})
}

// A full table refuses new sources, and takes them again when the connections of others are over. A dry packet changes
// nothing.
func TestTableIsBounded(t *testing.T) {
	t.Parallel()
	b := newBed(t, ConnLimit{Connections: 2, Idle: idle, Entries: int(ways)})
	if n := b.table.MaxEntries(); n != 1 {
		t.Fatalf("%d buckets, want one", n)
	}
	dry := opening(flow(1, 1))
	dry.Dry = 1
	b.changesNothing(dry, nf.Accept)
	for source := range ways {
		b.shakesHands(flow(source+1, 1))
		b.shakesHands(flow(source+1, 2))
	}
	dry.SourcePort = 9
	b.changesNothing(dry, nf.Drop)
	refuses := func(what string, source, failures uint32) {
		t.Helper()
		b.wants(what, opening(flow(source, 1)), nf.Drop)
		if n := b.Count(1); n.Failed != uint64(failures) {
			t.Errorf("%s: %d failures, want %d", what, n.Failed, failures)
		}
	}
	refuses("one source too many", ways+1, 1)
	b.wants("the end of one connection", answering(ending(flow(1, 1), rst)), nf.Accept)
	b.changesNothing(dry, nf.Accept)
	refuses("its source has another", ways+1, 2)
	b.wants("the end of that", answering(ending(flow(1, 2), fin|ack)), nf.Accept)
	b.shakesHands(flow(ways+1, 1))
	refuses("one source too many again", ways+2, 3)
	b.pass(idle / 2)
	b.wants("one speaks", flow(2, 1), nf.Accept)
	b.pass(idle/2 + time.Minute)
	for source := range ways - 1 {
		b.shakesHands(flow(100+source, 1))
	}
	refuses("not in the place of who spoke", 200, 4)
	b.wants("the end of one", answering(ending(flow(100, 1), rst)), nf.Accept)
	b.shakesHands(flow(200, 1))
}

// Sources that opened nothing give their places to others, who was heard of last the last.
func TestForgedSourcesGiveWay(t *testing.T) {
	t.Parallel()
	b := newBed(t, ConnLimit{Connections: 2, Idle: idle, Entries: int(ways)})
	b.shakesHands(flow(1, 1))
	for source := uint32(2); source <= ways; source++ {
		b.wants("a forged one", opening(flow(source, 1)), nf.Accept)
		b.wants("a forged one", opening(flow(source, 2)), nf.Accept)
		b.pass(time.Second)
	}
	dry := opening(flow(99, 1))
	dry.Dry = 1
	b.changesNothing(dry, nf.Accept)
	b.shakesHands(flow(99, 1))
	b.wants("another of it", opening(flow(99, 2)), nf.Accept)
	b.wants("one too many", opening(flow(99, 3)), nf.Drop)
	if ways > 2 {
		b.wants("one too many of the last", opening(flow(ways, 3)), nf.Drop)
	}
	b.wants("another of the first", opening(flow(1, 2)), nf.Accept)
	b.wants("one too many of the first", opening(flow(1, 3)), nf.Drop)
	if n := b.Count(1); n.Failed != 0 {
		b.T.Errorf("%d failures", n.Failed)
	}
}

// A quarter of the sources that it says it remembers find a place, all but some.
func TestQuarterOfItsEntriesFits(t *testing.T) {
	t.Parallel()
	const entries, some = 4096, 10 // 1024 hashes into 512 buckets of 8: 0.3 are expected to find theirs full
	b := newBed(t, ConnLimit{Connections: 1, Idle: idle, Entries: entries})
	for source := range uint32(entries / 4) {
		b.Ask(b.program, opening(flow(source, 1)))
		b.Ask(b.program, answering(ending(flow(source, 1), syn|ack)))
		b.Ask(b.program, flow(source, 1))
	}
	if n := b.Count(1).Failed; n > some {
		t.Errorf("%d of %d sources found no place, want at most %d", n, entries/4, some)
	}
}

// Whoever opens a connection on several CPUs at once has opened one.
func TestOpensAtOnceAreOne(t *testing.T) {
	t.Parallel()
	b := newBed(t, ConnLimit{Connections: most, Idle: idle, Entries: int(ways)})
	b.wants("the packet, to describe it to all CPUs", opening(flow(1, 1)), nf.Accept)
	for round := range 5000 {
		if err := b.table.Put(uint32(0), &connlimitConnlimitBucket{}); err != nil {
			t.Fatal(err)
		}
		var ready atomic.Int32
		var done sync.WaitGroup
		for range 2 {
			done.Go(func() {
				for ready.Add(1); ready.Load() < 2; { // both are on a CPU
				}
				if _, err := b.program.Run(&ebpf.RunOptions{Data: make([]byte, 64)}); err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
		if n := b.taken(); n != 1 {
			t.Fatalf("round %d: one connection has %d places", round, n)
		}
	}
}

// first is the first bucket.
func (b *bed) first() (bucket connlimitConnlimitBucket) {
	b.T.Helper()
	if err := b.table.Lookup(uint32(0), &bucket); err != nil {
		b.T.Fatal(err)
	}
	return bucket
}

// changesNothing wants that of a packet that nobody sent.
func (b *bed) changesNothing(p nf.Packet, want nf.Verdict) {
	b.T.Helper()
	before := b.first()
	b.wants("nobody sent it", p, want)
	if after := b.first(); after != before {
		b.T.Errorf("a dry packet changed the table from %v to %v", before, after)
	}
}

// taken is how many connections it has.
func (b *bed) taken() (n int) {
	b.T.Helper()
	for _, way := range b.first().Slot {
		for _, s := range way {
			if s.Flow != 0 {
				n++
			}
		}
	}
	return n
}
