package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/realmgate/realmgate/internal/model"
)

// ClaimEvent tells that a client has claimed. Events can be lost when the reader is too slow:
// Usage counts them, and Withdraw always tells the truth.
type ClaimEvent struct {
	ID     uint64 // of the reservation
	At     model.Instant
	Left   int // claims left
	Used   int
	Client netip.Addr
}

// DropEvent is a sample of the packets that were dropped.
type DropEvent struct {
	At        model.Instant `json:"at"`
	Reason    model.Reason  `json:"reason"`
	Side      string        `json:"side"`
	Interface int           `json:"ifindex"`
	Tuple     model.Tuple   `json:"tuple"` // as it stood in the packet
	Length    int           `json:"length"`
	CPU       int           `json:"cpu"`
	Missed    uint64        `json:"missed"` // drops on that CPU that no sample tells of, since the data plane was made
	Frame     []byte        `json:"frame"`  // its beginning
}

// HoneypotEvent tells that a source completed a handshake with the honeypot: the address is its
// own. Events can be lost when the reader is too slow; who comes again is told of again.
type HoneypotEvent struct {
	At     model.Instant
	Source netip.Addr
	Port   uint16 // TCP, of ours
}

// Events reads one of the event streams until it is closed.
type Events[T any] struct {
	reader *ringbuf.Reader
	read   func() (ringbuf.Record, error)
	decode func([]byte) (T, error)
	owned  *ebpf.Map // ends with the stream; nil where the data plane keeps it
}

// Claims opens the stream of claims.
func (d *Datapath) Claims() (*Events[ClaimEvent], error) {
	events, err := newEvents(d.objects.ClaimEvents, func(raw []byte) (ClaimEvent, error) {
		var e bpfClaimEvent
		_, err := binary.Decode(raw, binary.NativeEndian, &e)
		return ClaimEvent{ID: e.Id, At: model.Instant(e.At), Left: int(e.Left), Used: int(e.Used), Client: addressOf(e.Client)}, err
	})
	if err == nil {
		events.read = newLooker(events.reader).read
	}
	return events, err
}

func (d *core) dropOf(raw []byte) (DropEvent, error) {
	var e bpfDropEvent
	if _, err := binary.Decode(raw, binary.NativeEndian, &e); err != nil {
		return DropEvent{}, err
	}
	frame := e.Frame[:min(int(e.Captured), len(e.Frame))]
	return DropEvent{
		At: model.Instant(e.At), Reason: model.Reason(d.reasons[int(e.Reason)%len(d.reasons)]),
		Side: sideName(bpfSide(e.Side)), Interface: int(e.Ifindex), Length: int(e.Length),
		CPU: int(e.Cpu), Missed: e.Missed, Frame: slices.Clone(frame),
		Tuple: model.Tuple{
			Protocol:    model.Protocol(e.Protocol),
			Source:      netip.AddrPortFrom(addressOf(e.Source), swap(e.SourcePort)),
			Destination: netip.AddrPortFrom(addressOf(e.Destination), swap(e.DestinationPort)),
		},
	}, nil
}

// HoneypotEvents opens the stream of handshakes that were completed with the honeypot.
func (d *Datapath) HoneypotEvents() (*Events[HoneypotEvent], error) {
	return newEvents(d.objects.HoneypotEvents, func(raw []byte) (HoneypotEvent, error) {
		var e bpfHoneypotEvent
		_, err := binary.Decode(raw, binary.NativeEndian, &e)
		return HoneypotEvent{At: model.Instant(e.At), Source: addressOf6(e.Source).Unmap(), Port: swap(e.Port)}, err
	})
}

func newEvents[T any](table *ebpf.Map, decode func([]byte) (T, error)) (*Events[T], error) {
	reader, err := ringbuf.NewReader(table)
	if err != nil {
		return nil, fmt.Errorf("open event stream %s: %w", table, err)
	}
	return &Events[T]{reader: reader, read: reader.Read, decode: decode}, nil
}

// Next waits for an event; os.ErrClosed says that Close was called.
func (e *Events[T]) Next() (T, error) {
	var zero T
	record, err := e.read()
	if errors.Is(err, ringbuf.ErrClosed) {
		return zero, os.ErrClosed
	}
	if err != nil {
		return zero, fmt.Errorf("read an event: %w", err)
	}
	return e.decode(record.RawSample)
}

// SetDeadline has a Next that waits fail with os.ErrDeadlineExceeded from then on; the zero
// value: never. Claims have deadlines of their own.
func (e *Events[T]) SetDeadline(t time.Time) { e.reader.SetDeadline(t) }

// Close ends a Next that waits.
func (e *Events[T]) Close() error { return errors.Join(e.reader.Close(), e.owned.Close()) }
