package web

import (
	"container/list"
	"errors"
	"net/netip"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/ipv4"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/web/hello"
)

// Counts are of connections since the start.
type Counts struct {
	Read     uint64 // whose names were read
	Opened   uint64 // that became sessions
	Refused  uint64 // that came to nothing, for whatever reason
	Full     uint64 // frames that were not heard, as too many waited
	Again    uint64 // first data that came again while their name was read or their host asked
	Replayed uint64 // frames that were sent again
}

// table has the connections that are no sessions yet. It does no I/O but what kernel does for it, and reads no clock.
type table struct {
	kernel   kernel
	find     func(name string, flow model.Tuple) (Target, bool)
	patience func() (hello int64) // nanoseconds from the first data to the name
	weak     func(target Target, flow model.Tuple, can datapath.WebPromise)
	all      map[model.Tuple]*connection
	places
	early  early
	counts Counts
	times  histogram
}

func newTable(k kernel, find func(string, model.Tuple) (Target, bool), patience func() int64) *table {
	t := &table{
		find: find, patience: patience, all: map[model.Tuple]*connection{}, places: newPlaces(), early: newEarly(),
		weak: func(Target, model.Tuple, datapath.WebPromise) {},
	}
	t.kernel = replays{k, &t.counts.Replayed}
	return t
}

// hear takes an event in.
func (t *table) hear(e *datapath.WebEvent) error {
	c := t.all[e.Flow]
	switch e.Kind {
	case datapath.WebFirst, datapath.WebLater:
		return t.frames(e)
	}
	if c == nil || c.begun() != e.Begun {
		return nil // of an earlier daemon, forgotten, or of another connection by the same port
	}
	switch e.Kind {
	case datapath.WebOpened:
		return t.opened(c, e)
	case datapath.WebRefused, datapath.WebWeak:
		if c.phase != phaseConnecting {
			return nil
		}
		if e.Kind == datapath.WebWeak {
			t.weak(c.target, c.flow, e.Can)
		}
		t.leave(c)
		if e.Reason == reasonRate {
			return t.postpone(c, e.At)
		}
		t.counts.Refused++
		t.queue(c, &t.resting)
		return c.refused(t.kernel, e.At, e.Reason)
	}
	return nil
}

// frames takes in an event's. Of an aggregate the data plane has checked the first segment; the others are behind it.
func (t *table) frames(e *datapath.WebEvent) (err error) {
	list, damaged := parseSegments(e.Frame, e.Each)
	if damaged != nil {
		return nil //nolint:nilerr // on its way
	}
	kind := e.Kind
	for _, s := range list {
		err = errors.Join(err, t.frame(t.all[e.Flow], e, kind, s))
		kind = datapath.WebLater
	}
	return err
}

// frame takes one in.
func (t *table) frame(c *connection, e *datapath.WebEvent, kind datapath.WebEventKind, s segment) error {
	if s.Has(ipv4.RST) {
		return t.reset(c, s, e.At)
	}
	var errs error
	if c != nil && kind == datapath.WebFirst && !c.has(s) {
		errs = t.replace(c)
		c = nil
	}
	again := c != nil && s.Sequence == c.first.Sequence
	if c == nil {
		if kind != datapath.WebFirst {
			t.early.keep(e.Flow, s, e.At)
			return nil
		}
		room, err := t.makeRoom(e.Flow.Source.Addr(), e.At)
		errs = errors.Join(errs, err)
		if !room {
			t.counts.Full++
			return errs
		}
		c = t.begin(e, s)
	}
	known := int32(s.end-c.next) <= 0
	c.follow(s)
	switch c.phase {
	case phaseOpen:
		return t.follows(c, s)
	case phaseOver:
		return nil
	}
	if again {
		t.counts.Again++
	}
	err := t.add(c, s)
	if !again && kind == datapath.WebFirst {
		for _, later := range t.early.take(c.flow) {
			err = errors.Join(err, t.add(c, later))
		}
	}
	if c.phase == phaseConnecting {
		if known && c.mayRepeat() {
			return c.repeat(t.kernel)
		}
		return nil
	}
	if err != nil {
		return errors.Join(errs, t.end(c, e.At, reasonMalformed, nil))
	}
	return errors.Join(errs, t.read(c, e, s, again))
}

// add takes a segment of a connection in, if there is room for it: else its client sends it again.
func (t *table) add(c *connection, s segment) error {
	if !t.holds(c, len(s.Frame)) {
		return nil
	}
	before := c.octets
	err := c.add(s)
	t.hold(c, c.octets-before)
	return err
}

// read leads a connection to its host as soon as its name is there.
func (t *table) read(c *connection, e *datapath.WebEvent, s segment, again bool) error {
	name, err := c.name()
	if errors.Is(err, hello.ErrShort) {
		if again {
			return c.acknowledge(t.kernel, s)
		}
		return nil
	}
	t.counts.Read++
	if err != nil {
		return t.end(c, e.At, reasonOf(err), refusal(c.stream.Bytes()))
	}
	target, known := t.find(name, c.flow)
	if !known {
		return t.end(c, e.At, reasonUnknown, refusal(c.stream.Bytes()))
	}
	if words := redirection(name, c.stream.Bytes()); target.Redirect && words != nil {
		return t.end(c, e.At, reasonRedirected, words)
	}
	if t.host[target.To.Addr()] >= mostOfHost {
		return t.end(c, e.At, reasonRefused, nil)
	}
	c.target = target
	err = c.connect(t.kernel, e)
	if c.phase == phaseConnecting { // else its client's next segment has it tried again
		t.host[target.To.Addr()]++
		t.queue(c, &t.connecting)
	}
	return err
}

func (t *table) opened(c *connection, e *datapath.WebEvent) error {
	if c.phase != phaseConnecting && (c.phase != phaseReading || !c.acknowledged) { // of two SYNs one was too many
		return nil
	}
	t.leave(c)
	t.counts.Opened++
	t.times.add(e.At.Sub(c.began))
	t.queue(c, &t.ordering)
	return c.open(t.kernel, e.At)
}

// follows sends on what has come behind the first data. What is not next comes back as long as the data plane keeps order, which
// ends when so many frames have come. What goes on coming back then is of a session that is over.
func (t *table) follows(c *connection, s segment) (err error) {
	if c.in == &t.resting && c.behind > 2*mostFrames {
		return nil
	}
	err = t.kernel.Replay(c.ifindex, s.Frame, 1)
	if c.behind++; c.behind == mostFrames { // behind it, as then all passes
		err = errors.Join(err, t.settle(c))
	}
	return err
}

// settle has the data plane let pass whatever comes of an open connection.
func (t *table) settle(c *connection) error {
	if c.settled {
		return nil
	}
	err := t.kernel.ForgetWeb(c.flow)
	c.settled = err == nil
	return err
}

// postpone has a connection of which there are too many at a time begin anew; or, if its client keeps the first segment no more,
// try again with what comes next.
func (t *table) postpone(c *connection, now model.Instant) error {
	t.counts.Full++
	if !c.acknowledged {
		return t.anew(c, now)
	}
	c.phase, c.began = phaseReading, now
	t.take(c.flow.Source.Addr())
	c.octets = c.framed + c.stream.Size()
	t.hold(c, c.octets)
	t.queue(c, &t.reading)
	return t.kernel.ForgetWeb(c.flow)
}

// anew has a connection begin anew with what its client sends next, but for what came after its first segment: a client that
// hears nothing sends that one alone (RFC 6298 section 5). One that keeps it no more is told.
func (t *table) anew(c *connection, now model.Instant) error {
	if c.acknowledged {
		t.counts.Refused++
		return errors.Join(c.tell(t.kernel, nil), t.forget(c))
	}
	for i, frame := range c.frames {
		if list, err := parseSegments(frame.octets, 0); i > 0 && err == nil {
			t.early.keep(c.flow, list[0], now)
		}
	}
	return t.forget(c)
}

func (t *table) end(c *connection, now model.Instant, reason model.Reason, words []byte) error {
	t.leave(c)
	t.counts.Refused++
	t.queue(c, &t.resting)
	return c.end(t.kernel, now, reason, words)
}

// begin has a connection wait.
func (t *table) begin(e *datapath.WebEvent, s segment) *connection {
	c := &connection{flow: e.Flow, ifindex: e.Interface, first: s, next: s.end, stream: hello.NewStream(s.Sequence), began: e.At}
	t.all[c.flow] = c
	t.take(c.flow.Source.Addr())
	t.queue(c, &t.reading)
	return c
}

// forget has go what is open or over.
func (t *table) forget(c *connection) error {
	t.queue(c, nil)
	delete(t.all, c.flow)
	return t.settle(c)
}

// replace has one go whose client has begun another by the same port, for which there may be no room. What was said of it is
// said of no other.
func (t *table) replace(c *connection) error {
	if c.phase == phaseReading || c.phase == phaseConnecting {
		t.leave(c)
		t.counts.Refused++
	}
	if c.phase == phaseReading { // the data plane has never heard of it
		c.settled = true
	}
	return t.forget(c)
}

// makeRoom reports whether one more of a source may wait. Where all places are taken, what is over goes, and then who has
// been silent for long: however many have half a name to say, the others are heard.
func (t *table) makeRoom(source netip.Addr, now model.Instant) (bool, error) {
	if !t.mayWait(source) {
		return false, nil
	}
	full := func() bool { return len(t.all) >= t.most }
	var err error
	for _, of := range []*list.List{&t.resting, &t.ordering} {
		for full() && of.Len() > 0 {
			err = errors.Join(err, t.forget(oldest(of)))
		}
	}
	for full() || t.octets >= mostOctets {
		c := oldest(&t.reading)
		if c == nil || now.Sub(c.began) < leastPatience {
			break
		}
		t.leave(c)
		t.counts.Refused++
		err = errors.Join(err, c.tell(t.kernel, nil), t.forget(c))
	}
	return !full() && t.octets < mostOctets, err
}

// waiting is how many have not said their names, or wait for their hosts.
func (t *table) waiting() (n int) {
	for _, of := range t.source {
		n += of
	}
	return n
}
