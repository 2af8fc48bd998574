package datapath

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
	"unsafe"

	"github.com/cilium/ebpf/ringbuf"
)

// flowsSoon is how long what comes is gathered, so that it is handed over together: each who hears is woken once.
const flowsSoon = 20 * time.Millisecond

// flowReader reads what the programs tell of flows and drops, out of the rows of all CPUs and out of the ring, in the order in
// which it happened. The ring wakes it up; while something comes it looks by itself (bpf/trace/tell.h).
type flowReader struct {
	table *flowTable
	ring  *ringbuf.Reader
	rows  *flowRows
	// What was taken out, and is not handed over yet.
	flows []bpfFlowEvent
	drops []rawDrop
}

// rawDrop is a drop_event.
type rawDrop struct {
	at  uint64
	raw []byte
}

func (d *flowTable) newFlowReader() (*flowReader, error) {
	ring, err := ringbuf.NewReader(d.objects.FlowEvents)
	if err != nil {
		return nil, fmt.Errorf("open event stream %s: %w", d.objects.FlowEvents, err)
	}
	rows, err := openFlowRows(d.objects.FlowRows)
	if err != nil {
		return nil, errors.Join(err, ring.Close())
	}
	return &flowReader{table: d, ring: ring, rows: rows}, nil
}

// follow hands over what comes until the ring is closed, or flushed. It begins when who read before does no more.
func (r *flowReader) follow(before <-chan struct{}) {
	if before != nil {
		<-before
	}
	defer r.rows.close()
	pause, quiet := firstPause, 0
	for {
		until, err := r.gather(quiet > 1)
		quiet++
		if r.hand(until) {
			quiet = 0
		}
		switch {
		case err == nil:
			pause = firstPause
		case errors.Is(err, ringbuf.ErrClosed), errors.Is(err, ringbuf.ErrFlushed):
			return
		default:
			r.failed(err)
			time.Sleep(pause)
			pause = min(2*pause, lastPause)
		}
	}
}

var past = time.Unix(1, 0)

// gather waits a little, or where it is quiet until it is woken up, and takes out what was told until an instant.
func (r *flowReader) gather(quiet bool) (until uint64, err error) {
	if quiet {
		r.ring.SetDeadline(time.Now().Add(lookLate))
		_, err = r.read()
	} else {
		time.Sleep(flowsSoon)
	}
	until = uint64(Now())
	r.ring.SetDeadline(past) // what is in it is read, and not waited for
	for at := uint64(0); at <= until && (err == nil || errors.Is(err, os.ErrDeadlineExceeded)); {
		if at, err = r.read(); errors.Is(err, os.ErrDeadlineExceeded) {
			err = nil
			break
		}
	}
	switch {
	case errors.Is(err, ringbuf.ErrFlushed):
		until = all
	case err != nil: // closed: what is left in the rows is the next reader's
		return all, err
	}
	r.flows = r.rows.take(until, r.flows)
	return until, err
}

// toldAt is where each record says what it tells.
const toldAt = int(unsafe.Offsetof(bpfFlowEvent{}.Told))

// read takes a record out of the ring, and says when it was written.
func (r *flowReader) read() (at uint64, err error) {
	record, err := r.ring.Read()
	if err != nil {
		return 0, err
	}
	raw := record.RawSample
	at = binary.NativeEndian.Uint64(raw)
	if binary.NativeEndian.Uint16(raw[toldAt:]) == uint16(bpfToldTOLD_DROP) {
		r.drops = append(r.drops, rawDrop{at, raw})
	} else {
		r.flows = append(r.flows, *(*bpfFlowEvent)(unsafe.Pointer(&raw[0])))
	}
	return at, nil
}

// hand hands over what happened until an instant, in its order, and reports whether anything did. The rest waits for the next time:
// there may be more that happened before it.
func (r *flowReader) hand(until uint64) bool {
	slices.SortStableFunc(r.flows, func(a, b bpfFlowEvent) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(r.drops, func(a, b rawDrop) int { return cmp.Compare(a.at, b.at) })
	watches, f, d := r.table.now(), 0, 0
	for {
		flow, drop := f < len(r.flows) && r.flows[f].At <= until, d < len(r.drops) && r.drops[d].at <= until
		switch {
		case flow && (!drop || r.flows[f].At <= r.drops[d].at):
			tellFlow(watches, flowOf(&r.flows[f]))
			f++
		case drop:
			r.tellDrop(watches, r.drops[d].raw)
			d++
		default:
			if f+d > 0 {
				heard(watches)
			}
			r.flows, r.drops = slices.Delete(r.flows, 0, f), slices.Delete(r.drops, 0, d)
			return f+d > 0
		}
	}
}

func heard(watches []*Watch) {
	for _, w := range watches {
		if w.Heard != nil {
			w.Heard()
		}
	}
}

func tellFlow(watches []*Watch, event FlowEvent) {
	mapping, ofMapping := event.mapping()
	session, ofSession := event.session()
	for _, w := range watches {
		if ofMapping && w.Mapping != nil {
			w.Mapping(mapping)
		}
		if ofSession && w.Session != nil {
			w.Session(session)
		}
	}
}

func (r *flowReader) tellDrop(watches []*Watch, raw []byte) {
	event, err := r.table.dropOf(raw)
	if err != nil {
		r.failed(err)
		return
	}
	for _, w := range watches {
		if w.Drop != nil {
			w.Drop(event)
		}
	}
}

func (r *flowReader) failed(err error) {
	for _, w := range r.table.now() {
		if w.Failed != nil {
			w.Failed(fmt.Errorf("read an event: %w", err))
		}
	}
}
