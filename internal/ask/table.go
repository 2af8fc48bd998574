package ask

import (
	"errors"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/ipv4"
	"github.com/realmgate/realmgate/internal/model"
	nfask "github.com/realmgate/realmgate/internal/nf/ask"
	"github.com/realmgate/realmgate/internal/web/hello"
)

const (
	mostFrames = 16 // of a flow
	mostKnown  = 4 * mostFlows
	// restTime is how long a flow is known that waits no more: what was on its way then finds it. Of too many it is not.
	restTime = 200 * time.Millisecond
)

// plane is what the core has the data plane do: with frames of flows from outside, hairpins among them, and of those from inside.
type plane interface {
	Replay(ifindex int, frame []byte, times int) error
	Send(ifindex int, frame []byte) error
	ReplayInside(ifindex int, frame []byte) error
	SendInside(ifindex int, frame []byte) error
}

// line is where verdicts are put down.
type line interface {
	Answer(f nfask.Flow, v nfask.Verdict) error
}

// Counts are of flows since the start of a function.
type Counts struct {
	Asked  uint64 // flows that the program was asked about
	Failed uint64 // of which it said nothing in time, or nothing that could be read
	Full   uint64 // frames that were not heard, as too many waited
}

// flow is one that waits, or has waited a moment ago.
type flow struct {
	id      uint64
	of      nfask.Flow
	begun   uint32
	ifindex int
	packets []ipv4.Packet
	octets  int           // of these and the stream
	stream  *hello.Stream // of TCP, where the program sees bytes
	until   model.Instant // it has to be decided; of one that is over, it is known
	asked   bool          // the program has a question about it, and has not answered
	shown   int           // octets of the stream that it has seen
	over    bool
}

// data is what the program sees.
func (f *flow) data(bytes bool) []byte {
	switch {
	case f.stream != nil:
		return f.stream.Bytes()
	case bytes:
		return f.packets[0].Payload
	}
	return f.packets[0].IP
}

// table has the flows of a function that wait for a verdict. It does no I/O but by line and plane, and reads no clock.
type table struct {
	bytes   bool
	timeout time.Duration
	line    line
	plane   plane
	ask     func(*flow)                              // has the program asked; it does not wait
	again   func(*ipv4.Packet) (taken bool, _ error) // sends again what is another's to send again

	next    uint64
	flows   map[nfask.Flow]*flow
	ids     map[uint64]*flow
	sources map[netip.Prefix]share // of an address and of its /24
	waits   int                    // flows
	octets  int
	counts  Counts
}

func newTable(bytes bool, timeout time.Duration, l line, p plane, ask func(*flow)) *table {
	return &table{
		bytes: bytes, timeout: timeout, line: l, plane: p, ask: ask, flows: map[nfask.Flow]*flow{}, ids: map[uint64]*flow{},
		sources: map[netip.Prefix]share{}, again: func(*ipv4.Packet) (bool, error) { return false, nil },
	}
}

// hear takes a frame in that is held.
func (t *table) hear(held nfask.Frame, now model.Instant) error {
	packets, err := parsePackets(held.Octets, held.Each)
	if err != nil {
		return nil // damaged on its way
	}
	f := t.flows[held.Flow]
	if f != nil && f.begun != held.Begun { // another connection by the same ports
		t.forget(f)
		f = nil
	}
	if f == nil {
		if !t.hasRoom(held.Flow) {
			t.counts.Full++
			return nil
		}
		f = t.begin(held, now)
	}
	if f.over { // it was on its way when the verdict was put down
		return t.replay(f, packets)
	}
	return t.add(f, packets, now)
}

// add has packets wait, and asks as soon as there is something to see.
func (t *table) add(f *flow, packets []ipv4.Packet, now model.Instant) error {
	for _, p := range packets {
		if len(f.packets) == mostFrames || !t.hasOctets(f, len(p.Frame)) {
			t.counts.Full++
			break // its sender sends it again
		}
		f.packets = append(f.packets, p)
		t.change(f, 0, len(p.Frame))
		if f.stream == nil {
			continue
		}
		before := f.stream.Size()
		err := f.stream.Add(p.Sequence, p.Payload)
		t.change(f, 0, f.stream.Size()-before)
		if err != nil { // two say different things of the same octets
			return t.decide(f, nfask.Failed, 0, now)
		}
	}
	if len(f.packets) == 0 {
		return nil
	}
	t.put(f)
	return nil
}

// put puts the question, unless the program has it, or has seen all.
func (t *table) put(f *flow) {
	if f.asked || f.shown > 0 && f.shown == len(f.data(t.bytes)) || f.stream != nil && len(f.stream.Bytes()) == 0 {
		return
	}
	f.asked, f.shown = true, len(f.data(t.bytes))
	t.ask(f)
}

// answer takes in what the program has said. Of a flow that is not waited for any more it is too late.
func (t *table) answer(a Answer, now model.Instant) error {
	f := t.ids[a.ID]
	if f == nil || f.over || !f.asked {
		return nil
	}
	f.asked = false
	if a.Verdict != more {
		return t.decide(f, verdicts[a.Verdict], a.Mark, now)
	}
	if f.stream == nil || f.shown == hello.MaxBytes { // there is no more
		return t.decide(f, nfask.Failed, 0, now)
	}
	t.put(f)
	return nil
}

// unanswered puts all questions again, to a program that has begun anew.
func (t *table) unanswered() {
	for _, f := range t.ids {
		if !f.over && f.asked {
			t.ask(f)
		}
	}
}

// decide puts a verdict down, and sends all frames again, which now meet it.
func (t *table) decide(f *flow, says nfask.Says, mark uint8, now model.Instant) error {
	if says == nfask.Failed {
		t.counts.Failed++
	}
	packets := f.packets
	t.leave(f)
	if len(t.flows) > mostKnown {
		delete(t.flows, f.of)
		delete(t.ids, f.id)
	}
	f.over, f.until, f.packets, f.stream = true, now.Add(restTime), nil, nil
	lasts := nfask.DatagramLasts
	if f.of.Protocol == model.TCP {
		lasts = nfask.VerdictLasts
	}
	if err := t.line.Answer(f.of, nfask.Verdict{Begun: f.begun, Says: says, Mark: mark, Until: now.Add(lasts)}); err != nil {
		return err
	}
	err := t.replay(f, packets)
	if says == nfask.Drop && t.bytes && packets[0].Protocol() == ipv4.TCP {
		err = errors.Join(err, t.end(f, &packets[0]))
	}
	return err
}

func (t *table) replay(f *flow, packets []ipv4.Packet) (err error) {
	sent := false // by another, with all that it has begun with
	for i := range packets {
		if sent && packets[i].Has(ipv4.SYN) {
			continue
		}
		taken, failed := t.again(&packets[i])
		sent = sent || taken
		if !taken && failed == nil {
			failed = t.send(f, packets[i].Frame)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// send sends a frame again as it came.
func (t *table) send(f *flow, frame []byte) error {
	if f.of.Direction == model.Out {
		return t.plane.ReplayInside(f.ifindex, frame)
	}
	return t.plane.Replay(f.ifindex, frame, 1)
}

// end resets a connection that is open at both ends, by a packet of it: neither would hear of the other again. What came first need
// not be the first of its stream.
func (t *table) end(f *flow, p *ipv4.Packet) error {
	back := t.plane.Send
	if f.of.Direction == model.Out {
		back = t.plane.SendInside
	}
	return errors.Join(t.send(f, reset(p, f.begun)), back(f.ifindex, refusal(p)))
}

func (t *table) begin(held nfask.Frame, now model.Instant) *flow {
	t.next++
	f := &flow{id: t.next, of: held.Flow, begun: held.Begun, ifindex: held.Interface, until: now.Add(t.timeout)}
	if t.bytes && held.Flow.Protocol == model.TCP {
		f.stream = hello.NewStream(held.Begun)
	}
	t.flows[f.of], t.ids[f.id] = f, f
	t.change(f, 1, 0)
	t.counts.Asked++
	return f
}

func (t *table) forget(f *flow) {
	t.leave(f)
	delete(t.flows, f.of)
	delete(t.ids, f.id)
}

// expire fails what has waited too long, and forgets what is over.
func (t *table) expire(now model.Instant) (err error) {
	for _, f := range t.ids {
		switch {
		case now.Before(f.until):
		case f.over:
			t.forget(f)
		default:
			err = errors.Join(err, t.decide(f, nfask.Failed, 0, now))
		}
	}
	return err
}
