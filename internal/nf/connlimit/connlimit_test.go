package connlimit

import (
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
	"github.com/realmgate/realmgate/internal/schema"
)

const (
	fin, syn, rst = 0x01, 0x02, 0x04
	idle          = time.Hour // so that what a test takes is nothing
)

// flow is a packet of a source's connection, by their numbers.
func flow(source uint32, connection uint16) nf.Packet {
	return nf.Packet{
		Source: source, SourcePort: connection, Destination: 1, DestinationPort: 2, Protocol: uint8(model.TCP), Direction: uint8(model.In),
		TcpFlags: 0x10, Length: 40, Segments: 1,
	}
}

func opening(p nf.Packet) nf.Packet {
	p.Opens, p.TcpFlags = 1, syn
	return p
}

func ending(p nf.Packet, flags uint8) nf.Packet {
	p.TcpFlags = flags
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

// pass lets time go by.
func (b *bed) pass(d time.Duration) {
	b.T.Helper()
	for n := range b.table.MaxEntries() {
		var bucket connlimitConnlimitBucket
		if err := b.table.Lookup(n, &bucket); err != nil {
			b.T.Fatal(err)
		}
		for i := range bucket.Way {
			for j, s := range bucket.Way[i].Slot {
				if s != 0 {
					bucket.Way[i].Slot[j] = s&^0xffffffff | uint64(uint32(s)-uint32(d/tick))
				}
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
		b.wants("one that may", opening(flow(7, connection)), nf.Accept)
		b.wants("its SYN again", opening(flow(7, connection)), nf.Accept)
	}
	b.wants("one too many", opening(flow(7, 2)), nf.Drop)
	b.wants("a packet of one that is open", flow(7, 1), nf.Accept)
	b.wants("a packet of one that never opened", flow(7, 2), nf.Accept)
	b.wants("another source", opening(flow(8, 2)), nf.Accept)
	for connection, flags := range []uint8{fin, rst} {
		b.wants("the end", ending(flow(7, uint16(connection)), flags), nf.Accept)
		b.wants("one in its place", opening(flow(7, uint16(10+connection))), nf.Accept)
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
				p = ending(p, rapid.SampledFrom([]uint8{fin, rst}).Draw(rt, "flags"))
				delete(last, c)
			case "wait":
				now += idle/4 + time.Minute
				b.pass(idle/4 + time.Minute)
				continue
			}
			if got := b.Ask(b.program, p).Verdict; got != want {
				rt.Fatalf("%+v of %+v at %v: %v, want %v", p, c, now, got, want)
			}
		}
	})
}

// A full table refuses new sources, and takes them again when the connections of others are over. A dry packet changes nothing.
func TestTableIsBounded(t *testing.T) {
	t.Parallel()
	b := newBed(t, ConnLimit{Connections: 1, Idle: idle, Entries: int(ways)})
	if n := b.table.MaxEntries(); n != 1 {
		t.Fatalf("%d buckets, want one", n)
	}
	dry := opening(flow(1, 1))
	dry.Dry = 1
	b.wants("nobody sent it", dry, nf.Accept)
	for source := range ways {
		b.wants("one of those that it has room for", opening(flow(source+1, 1)), nf.Accept)
	}
	before := b.slots()
	dry.SourcePort = 9
	b.wants("a dry one too many", dry, nf.Drop)
	if after := b.slots(); !slices.Equal(before, after) {
		t.Errorf("a dry packet changed the table from %v to %v", before, after)
	}
	b.wants("one source too many", opening(flow(ways+1, 1)), nf.Drop)
	if n := b.Count(1); n.Failed != 1 {
		t.Errorf("%d failures, want one", n.Failed)
	}
	b.wants("the end of one", ending(flow(1, 1), rst), nf.Accept)
	b.wants("another in its place", opening(flow(ways+1, 1)), nf.Accept)
}

func (b *bed) slots() (all []uint64) {
	b.T.Helper()
	var bucket connlimitConnlimitBucket
	if err := b.table.Lookup(uint32(0), &bucket); err != nil {
		b.T.Fatal(err)
	}
	for _, w := range bucket.Way {
		all = append(append(all, w.Who), w.Slot[:]...)
	}
	return all
}

// What a file may say, and must.
func TestSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ConnLimit{
		"{connections: 20}":                            {20, 5 * time.Minute, 4096},
		"{connections: 64, idle: 90s, entries: 65536}": {64, 90 * time.Second, 65536},
		"{}":                           {},
		"{connections: 65}":            {},
		"{connections: 0}":             {},
		"{connections: 1, idle: 10ms}": {},
	} {
		var root yaml.Node
		if err := yaml.Unmarshal([]byte(text), &root); err != nil {
			t.Fatal(err)
		}
		faults := &schema.Faults{File: "test.yaml"}
		given := &schema.Given{Faults: faults}
		d := Kind.New("")
		schema.ReadSection(faults, root.Content[0], "", 1, given.Noting(d.Keys()...))
		got := d.Finish(given).Function("", nil)
		switch err := faults.Err(); {
		case (err != nil) != (want == ConnLimit{}):
			t.Errorf("%s: %v", text, err)
		case err == nil && got != nf.Function(want):
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}
