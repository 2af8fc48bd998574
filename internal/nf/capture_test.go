package nf

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
)

// begin makes the ring, and returns what reads the number of the function from each
// record, until there is none.
func (b *bed) begin(bytes uint32) func() []uint32 {
	b.t.Helper()
	ring, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: bytes})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { ring.Close() })
	if err := b.Shared.Rings.Put(uint32(0), ring); err != nil {
		b.t.Fatal(err)
	}
	reader, err := ringbuf.NewReader(ring)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { reader.Close() })
	reader.SetDeadline(time.Unix(1, 0)) // never wait
	return func() (numbers []uint32) {
		for {
			record, err := reader.Read()
			if err != nil {
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					b.t.Error(err)
				}
				return numbers
			}
			numbers = append(numbers, binary.NativeEndian.Uint32(record.RawSample[8:]))
		}
	}
}

func (b *bed) snap(number, bytes uint32) {
	b.t.Helper()
	if err := b.Shared.Snaps.Put(number, bytes); err != nil {
		b.t.Fatal(err)
	}
}

// Functions that say NF_TO_USER leave the decision to the next one, and who captures
// gets the packets of those that it asked for, from programs of their own too.
func TestToUserGoesOn(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	read := b.begin(1 << 16)
	for _, own := range []bool{false, true} {
		b.put(Chain{Name: "it", Rules: []Rule{{}}, Steps: steps(1,
			fixed{toUser, true, own}, fixed{goOn, false, own}, fixed{toUser, true, own}, fixed{toUser, true, own}, fixed{drop, false, own})})
		for _, c := range []struct{ snaps, want []uint32 }{
			{[]uint32{0, 0, 0}, nil},
			{[]uint32{64, 0, 20}, []uint32{1, 4}},
			{[]uint32{0, 1, 0}, []uint32{3}},
		} {
			for i, number := range []uint32{1, 3, 4} {
				b.snap(number, c.snaps[i])
			}
			if got := b.classify(Packet{}); got.verdict != drop || got.function != 5 {
				t.Errorf("%+v", got)
			}
			got := read()
			if len(got) != len(c.want) {
				t.Fatalf("snaps %d: copies by functions %d, want %d", c.snaps, got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("snaps %d: copies by functions %d, want %d", c.snaps, got, c.want)
				}
			}
		}
		if n := b.count(1); n.Failed > 0 || n.Lost > 0 {
			t.Errorf("%+v", n)
		}
	}
}

// What finds no room is counted, and what nobody sent is not copied.
func TestCopiesAreLostAndCounted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.put(Chain{Name: "it", Rules: []Rule{{}}, Steps: []Step{{Number: 7, Function: fixed{toUser, true, false}}}})
	b.snap(7, 1<<16)
	ask := func(p Packet) {
		if got := b.classify(p); got.verdict != accept {
			t.Errorf("%+v", got)
		}
	}
	ask(Packet{}) // nobody has a ring
	read := b.begin(4096)
	ask(Packet{Dry: 1})
	const sent = 20
	for range sent {
		ask(Packet{})
	}
	captured, lost := uint64(len(read())), b.count(7).Lost
	if captured == 0 || lost == 0 || captured+lost != sent {
		t.Errorf("of %d packets %d were captured and %d lost", sent, captured, lost)
	}
	ask(Packet{})
	if again := len(read()); again != 1 {
		t.Errorf("%d packets after the ring was read, want 1", again)
	}
}
