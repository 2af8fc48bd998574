package mirror

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// record stands before each copy (struct capture_record of bpf/trace/capture.h).
type record struct {
	At                           uint64
	Function, Length, Captured   uint32
	Source, Destination          uint32
	SourcePort, DestinationPort  uint16
	Protocol, Direction, Answers uint8
	_                            [5]uint8
}

// capture makes a ring, and returns what reads the copies in it.
func capture(b *nftest.Bed, size uint32) func() (records []record, copies [][]byte) {
	b.T.Helper()
	ring, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: size})
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { _ = ring.Close() })
	if err := b.Shared.Rings.Put(uint32(0), ring); err != nil {
		b.T.Fatal(err)
	}
	reader, err := ringbuf.NewReader(ring)
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { _ = reader.Close() })
	reader.SetDeadline(time.Unix(1, 0)) // never wait
	return func() (records []record, copies [][]byte) {
		b.T.Helper()
		for {
			sample, err := reader.Read()
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return records, copies
			}
			var r record
			if err == nil {
				err = binary.Read(bytes.NewReader(sample.RawSample), binary.NativeEndian, &r)
			}
			if err != nil {
				b.T.Fatal(err)
			}
			records = append(records, r)
			copies = append(copies, sample.RawSample[binary.Size(r):][:r.Captured])
		}
	}
}

// snap says how many bytes of each packet are wanted.
func snap(b *nftest.Bed, size uint32) {
	b.T.Helper()
	if err := b.Shared.Snaps.Put(uint32(1), size); err != nil {
		b.T.Fatal(err)
	}
}

// frame has so many bytes, each another than those beside it.
func frame(size int) []byte {
	made := make([]byte, size)
	for i := range made {
		made[i] = byte(i * 7)
	}
	return made
}

// mirrored puts a mirror, number 1, before number 2.
func mirrored(t *testing.T, decides nf.Verdict) *nftest.Bed {
	t.Helper()
	b := nftest.New(t)
	b.Put(nf.Chain{Name: "it", Rules: []nf.Rule{{}}, Steps: []nf.Step{
		{Number: 1, Function: nftest.Function(t, Kind, "{}", nil)}, {Number: 2, Function: nftest.Fixed(decides)},
	}})
	return b
}

// Every packet goes to who captures, as it came and as much of it as is wanted, whatever the next function says of it; so do those that
// follow it. Of what nobody sent, and while nobody captures, there is no copy.
func TestCopiesEveryPacket(t *testing.T) {
	t.Parallel()
	for _, decides := range []nf.Verdict{nf.Accept, nf.Drop} {
		b := mirrored(t, decides)
		first := nftest.Packet("in tcp 203.0.113.7:40000 > 10.0.0.100:80")
		said := b.Classify(first) // and there is no ring
		if said.Verdict != decides || said.Function != 2 || said.Packets == 0 {
			t.Fatalf("%+v, want function 2 to decide, and who sees what follows", said)
		}
		answer := first
		answer.Opens, answer.Answers = 0, 1
		dry := first
		dry.Dry = 1
		read := capture(b, 1<<20)
		for _, wanted := range []uint32{0, 1, 96, 256, 257, 1 << 16} {
			snap(b, wanted)
			for _, size := range []int{64, 256, 1514} {
				b.Frame(b.Made.XDP.Classifier, frame(size), dry)
				if got := b.Frame(b.Made.XDP.Classifier, frame(size), first); got != said {
					t.Errorf("%+v, want %+v", got, said)
				}
				if got := b.Frame(b.Made.XDP.Chains[said.Packets-1], frame(size), answer); got.Verdict != nf.Accept {
					t.Errorf("what follows: %+v", got)
				}
				records, copies := read()
				if wanted == 0 {
					if len(records) > 0 {
						t.Errorf("nobody wants any, and there are %d copies", len(records))
					}
					continue
				}
				if len(records) != 2 {
					t.Fatalf("%d copies, want 2", len(records))
				}
				for i, r := range records {
					want := record{
						At: r.At, Function: 1, Length: uint32(size), Captured: min(wanted, uint32(size)), Source: first.Source, Destination: first.Destination,
						SourcePort: first.SourcePort, DestinationPort: first.DestinationPort, Protocol: first.Protocol, Direction: first.Direction, Answers: uint8(i),
					}
					if r != want || r.At == 0 || !bytes.Equal(copies[i], frame(size)[:want.Captured]) {
						t.Errorf("%d bytes of %d: %+v, want %+v", wanted, size, r, want)
					}
				}
			}
		}
		if n := b.Count(1); n.Seen == 0 || n.Failed != 0 || n.Lost != 0 {
			t.Errorf("counted %+v", n)
		}
	}
}

// Copies that find no room are counted, and their packets go on.
func TestCopiesThatFindNoRoom(t *testing.T) {
	t.Parallel()
	const sent = 20
	b := mirrored(t, nf.Accept)
	read := capture(b, 4096)
	snap(b, 1<<16)
	for range sent {
		if got := b.Frame(b.Made.XDP.Classifier, frame(1000), nftest.Packet("in tcp 203.0.113.7:40000 > 10.0.0.100:80")); got.Verdict != nf.Accept {
			t.Errorf("%+v", got)
		}
	}
	records, _ := read()
	if lost := b.Count(1).Lost; lost == 0 || len(records) == 0 || lost+uint64(len(records)) != sent {
		t.Errorf("of %d packets %d were copied and %d lost", sent, len(records), lost)
	}
}

// It has no key of its own.
func TestBadSections(t *testing.T) {
	t.Parallel()
	nftest.Refuses(t, Kind, map[string]string{"{snap: 96}": `unknown key "snap"`})
}
