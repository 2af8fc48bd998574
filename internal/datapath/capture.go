package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/model"
)

// captureRing is a size that bpf/trace/capture.h fixes, in bytes.
const captureRing = 1 << 22

// Capture is a copy of a packet that a function of a chain told to take.
type Capture struct {
	At        model.Instant
	Function  uint32          // its number
	Direction model.Direction // of the flow
	Interface int             // by which it came in
	Answers   bool            // the packet goes the other way
	Tuple     model.Tuple     // of the packet, as chains see it
	Length    int             // of the frame
	Data      []byte          // its beginning, as it came in
}

// Captures opens the stream of copies; WatchFunctions says of what. There is one at a
// time, and it ends with StopCaptures.
func (d *policyTable) Captures() (*Events[Capture], error) {
	ring, err := ebpf.NewMap(&ebpf.MapSpec{Name: "capture_ring", Type: ebpf.RingBuf, MaxEntries: captureRing})
	if err != nil {
		return nil, fmt.Errorf("make room for what is captured: %w", err)
	}
	events, err := newEvents(ring, captureOf)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("begin to capture: %w", err), ring.Close())
	}
	events.owned = ring
	if err := d.objects.CaptureRings.Put(uint32(0), ring); err != nil {
		return nil, errors.Join(fmt.Errorf("begin to capture: %w", err), events.Close())
	}
	return events, nil
}

// StopCaptures ends the copying, also what an earlier daemon began.
func (d *policyTable) StopCaptures() error {
	err := d.objects.CaptureRings.Delete(uint32(0))
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		err = nil
	}
	return errors.Join(err, d.WatchFunctions(nil))
}

// WatchFunctions tells the programs how many bytes are wanted of the packets that each
// function, by its number, tells to copy; of others none are.
func (d *policyTable) WatchFunctions(snaps map[uint32]uint32) error {
	keys, values := make([]uint32, MostCounts), make([]uint32, MostCounts)
	for i := range keys {
		keys[i], values[i] = uint32(i), snaps[uint32(i)]
	}
	if _, err := d.objects.CaptureSnaps.BatchUpdate(keys, values, nil); err != nil {
		return fmt.Errorf("say which functions are captured: %w", err)
	}
	return nil
}

func captureOf(raw []byte) (Capture, error) {
	var r bpfCaptureRecord
	n, err := binary.Decode(raw, binary.NativeEndian, &r)
	if err != nil {
		return Capture{}, err
	}
	if uint32(len(raw)-n) < r.Captured {
		return Capture{}, fmt.Errorf("a copy of %d bytes has room for %d", r.Captured, len(raw)-n)
	}
	c := Capture{
		At: model.Instant(r.At), Function: r.Function, Direction: model.Direction(r.Direction), Answers: r.Answers != 0,
		Interface: int(r.Ifindex),
		Tuple: model.Tuple{
			Protocol:    model.Protocol(r.Protocol),
			Source:      netip.AddrPortFrom(addressOf(r.Source), swap(r.SourcePort)),
			Destination: netip.AddrPortFrom(addressOf(r.Destination), swap(r.DestinationPort)),
		},
		Length: int(r.Length), Data: raw[n:][:r.Captured:r.Captured],
	}
	if c.Answers {
		c.Tuple.Source, c.Tuple.Destination = c.Tuple.Destination, c.Tuple.Source
	}
	return c, nil
}
