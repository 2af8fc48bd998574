package ask

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/realmgate/realmgate/internal/model"
)

// Says is what a program has said of a flow.
type Says = askAskSays

// What it may say.
const (
	Continue = askAskSaysASK_CONTINUE
	Accept   = askAskSaysASK_ACCEPT
	Drop     = askAskSaysASK_DROP
	Failed   = askAskSaysASK_FAILED // nothing in time, or nothing that can be read
)

// How long a verdict holds for what is still sent of its flow's beginning: of TCP, which has numbers to know it by, and of others.
const (
	VerdictLasts  = 5 * time.Second
	DatagramLasts = 200 * time.Millisecond
)

// Flow is one as functions see it: private hosts by their own addresses.
type Flow struct {
	model.Tuple
	Direction model.Direction
}

// Frame is one that is held.
type Frame struct {
	Flow      Flow
	Begun     uint32 // of TCP, the number of what is asked about: its SYN's, or that of the stream's first octet
	Interface int    // that it came in by
	Each      int    // of an aggregate: octets of payload of each packet but the last; 0: it is one packet
	Octets    []byte // with its link header; the reader's own
}

// Line is what a function "ask" and the daemon share, all generations of it. Safe for concurrent use.
type Line struct {
	bytes bool

	mutex  sync.Mutex
	tables map[string]*ebpf.Map // nil until a program wants them
	opened chan struct{}        // closed then
}

// NewLine makes one without tables. bytes: it is asked about the first bytes of streams.
func NewLine(bytes bool) *Line { return &Line{bytes: bytes, opened: make(chan struct{})} }

// Opened is closed when there are tables.
func (l *Line) Opened() <-chan struct{} { return l.opened }

// open makes the tables when nobody has asked for them before.
func (l *Line) open(spec *ebpf.CollectionSpec) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.tables != nil {
		return nil
	}
	made := map[string]*ebpf.Map{}
	var err error
	for _, name := range []string{askMapAskFlows, askMapAskFrames, askMapAskStates, askMapAskBudgets, askMapAskUnheard} {
		if made[name], err = ebpf.NewMap(spec.Maps[name]); err != nil {
			closeAll(made)
			return fmt.Errorf("make %s: %w", name, err)
		}
	}
	l.tables = made
	if err := l.put(0); err != nil {
		closeAll(made)
		l.tables = nil
		return err
	}
	close(l.opened)
	return nil
}

func closeAll(tables map[string]*ebpf.Map) {
	for _, m := range tables {
		_ = m.Close() // programs that use it keep it
	}
}

// Close gives the tables up; programs that use them keep them.
func (l *Line) Close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	closeAll(l.tables)
}

// Beat has frames held until then: by the end of that somebody has to have an answer, or to beat again. The zero instant: the
// function fails at once.
func (l *Line) Beat(until model.Instant) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.put(until)
}

// put is Beat under the lock.
func (l *Line) put(until model.Instant) error {
	state := askAskState{Until: uint64(until)}
	if l.bytes {
		state.Bytes = 1
	}
	if err := l.tables[askMapAskStates].Put(uint32(0), &state); err != nil {
		return fmt.Errorf("say who asks a program: %w", err)
	}
	return nil
}

// Unheard is how many frames were held since the start that no reader gets: there was no room for them, or their source had sent
// too many. Their senders send them again.
func (l *Line) Unheard() (frames uint64, _ error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err := l.tables[askMapAskUnheard].Lookup(uint32(0), &frames); err != nil {
		return 0, fmt.Errorf("count frames that nobody heard of: %w", err)
	}
	return frames, nil
}

// Verdict is what a program has said.
type Verdict struct {
	Begun uint32 // as in the Frame
	Says  Says
	Mark  uint8         // of Continue, for functions behind
	Until model.Instant // it holds
}

// Answer puts a verdict down, for a frame that is sent again.
func (l *Line) Answer(f Flow, v Verdict) error {
	value := askAskFlow{Until: uint64(v.Until), Begun: v.Begun, Says: uint8(v.Says), Mark: v.Mark}
	if err := l.tables[askMapAskFlows].Put(keyOf(f), &value); err != nil {
		return fmt.Errorf("say what becomes of a flow: %w", err)
	}
	return nil
}

func keyOf(f Flow) *askAskKey {
	return &askAskKey{
		Source: numberOf(f.Source.Addr()), Destination: numberOf(f.Destination.Addr()),
		SourcePort: bits.ReverseBytes16(f.Source.Port()), DestinationPort: bits.ReverseBytes16(f.Destination.Port()),
		Protocol: uint8(f.Protocol), Direction: uint8(f.Direction),
	}
}

// Frames are those that are held. One goroutine reads them.
type Frames struct{ reader *ringbuf.Reader }

// Frames opens the stream of frames, of a line that is open.
func (l *Line) Frames() (*Frames, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	reader, err := ringbuf.NewReader(l.tables[askMapAskFrames])
	if err != nil {
		return nil, fmt.Errorf("open the stream of held frames: %w", err)
	}
	return &Frames{reader}, nil
}

// Next waits for one; os.ErrClosed says that Close was called.
func (f *Frames) Next() (Frame, error) {
	record, err := f.reader.Read()
	if errors.Is(err, ringbuf.ErrClosed) {
		return Frame{}, os.ErrClosed
	}
	if err != nil {
		return Frame{}, fmt.Errorf("read a held frame: %w", err)
	}
	return parseFrame(record.RawSample)
}

// Close ends a Next that waits.
func (f *Frames) Close() error { return f.reader.Close() }

func parseFrame(raw []byte) (Frame, error) {
	var head askAskFrame
	n, err := binary.Decode(raw, binary.NativeEndian, &head)
	if err != nil {
		return Frame{}, fmt.Errorf("read a held frame: %w", err)
	}
	if int(head.Length) > len(raw)-n {
		return Frame{}, fmt.Errorf("read a held frame: %d octets of it in %d", head.Length, len(raw)-n)
	}
	k := head.Key
	return Frame{
		Flow: Flow{Direction: model.Direction(k.Direction), Tuple: model.Tuple{
			Protocol:    model.Protocol(k.Protocol),
			Source:      netip.AddrPortFrom(addressOf(k.Source), bits.ReverseBytes16(k.SourcePort)),
			Destination: netip.AddrPortFrom(addressOf(k.Destination), bits.ReverseBytes16(k.DestinationPort)),
		}},
		Begun: head.Begun, Interface: int(head.Ifindex), Each: int(head.Each), Octets: slices.Clone(raw[n : n+int(head.Length)]),
	}, nil
}

// numberOf is an address as packets have it.
func numberOf(a netip.Addr) uint32 {
	octets := a.As4()
	return binary.NativeEndian.Uint32(octets[:])
}

func addressOf(number uint32) netip.Addr {
	var octets [4]byte
	binary.NativeEndian.PutUint32(octets[:], number)
	return netip.AddrFrom4(octets)
}
