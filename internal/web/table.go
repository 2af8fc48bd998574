package web

import (
	"errors"
	"net/netip"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/web/hello"
)

// Bounds of what waits, so that nobody takes the places of others. One who is beyond them is not heard: it sends again.
const (
	mostOfSource  = 64
	mostOfNetwork = 512 // a /24
	mostOfHost    = 256 // that it has not answered
	mostOctets    = 64 << 20
)

// Counts are of connections since the start.
type Counts struct {
	Read    uint64 // whose names were read
	Opened  uint64 // that became sessions
	Refused uint64 // that came to nothing, for whatever reason
	Full    uint64 // frames that were not heard, as too many waited
	Again   uint64 // frames that came again while their name was read or their host asked
}

// table has the connections that are no sessions yet. It does no I/O but what kernel does for it, and reads no clock.
type table struct {
	kernel   kernel
	find     func(name string, flow model.Tuple) (Target, bool)
	patience func() (hello int64) // nanoseconds from the first data to the name
	weak     func(target Target, flow model.Tuple, can datapath.WebPromise)
	all      map[model.Tuple]*connection
	source   map[netip.Addr]int
	network  map[netip.Prefix]int
	host     map[netip.Addr]int // connecting
	octets   int
	counts   Counts
	times    histogram
}

func newTable(k kernel, find func(string, model.Tuple) (Target, bool), patience func() int64) *table {
	return &table{
		kernel: k, find: find, patience: patience, all: map[model.Tuple]*connection{}, source: map[netip.Addr]int{},
		network: map[netip.Prefix]int{}, host: map[netip.Addr]int{}, weak: func(Target, model.Tuple, datapath.WebPromise) {},
	}
}

// hear takes an event in.
func (t *table) hear(e *datapath.WebEvent) error {
	c := t.all[e.Flow]
	switch e.Kind {
	case datapath.WebFirst, datapath.WebLater:
		s, err := parseSegment(e.Frame)
		if err != nil {
			return nil // damaged on its way
		}
		return t.frame(c, e, s)
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
		t.counts.Refused++
		return c.refused(t.kernel, e.At, e.Reason)
	}
	return nil
}

// frame takes one in.
func (t *table) frame(c *connection, e *datapath.WebEvent, s segment) error {
	if c != nil && e.Kind == datapath.WebFirst && !c.has(s) {
		t.replace(c)
		c = nil
	}
	if c == nil {
		if e.Kind != datapath.WebFirst {
			return nil // it overtook the first
		}
		if !t.hasRoom(e.Flow.Source.Addr()) {
			t.counts.Full++
			return nil
		}
		c = t.begin(e, s)
	}
	switch c.phase {
	case phaseOpen:
		return t.kernel.Replay(c.ifindex, s.frame, 1)
	case phaseOver:
		return nil
	}
	before := c.octets
	err := c.add(s)
	t.octets += c.octets - before
	if c.phase == phaseConnecting {
		t.counts.Again++
		return nil
	}
	if err != nil {
		return t.end(c, e.At, reasonMalformed, nil)
	}
	return t.read(c, e)
}

// read leads a connection to its host as soon as its name is there.
func (t *table) read(c *connection, e *datapath.WebEvent) error {
	name, err := c.name()
	if errors.Is(err, hello.ErrShort) {
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
	t.host[target.To.Addr()]++
	return c.connect(t.kernel, e)
}

func (t *table) opened(c *connection, e *datapath.WebEvent) error {
	if c.phase != phaseConnecting {
		return nil
	}
	t.leave(c)
	t.counts.Opened++
	t.times.add(e.At.Sub(c.began))
	return c.open(t.kernel, e.At)
}

func (t *table) end(c *connection, now model.Instant, reason model.Reason, words []byte) error {
	t.leave(c)
	t.counts.Refused++
	return c.end(t.kernel, now, reason, words)
}

// begin has a connection wait.
func (t *table) begin(e *datapath.WebEvent, s segment) *connection {
	c := &connection{flow: e.Flow, ifindex: e.Interface, first: s, stream: hello.NewStream(s.sequence), began: e.At, until: e.At + model.Instant(t.patience())}
	t.all[c.flow] = c
	t.source[c.flow.Source.Addr()]++
	t.network[networkOf(c.flow.Source.Addr())]++
	return c
}

// forget has go what is open or over.
func (t *table) forget(c *connection) error {
	delete(t.all, c.flow)
	return t.kernel.ForgetWeb(c.flow)
}

// replace has one go whose client has begun another by the same port. What was said of it is said of no other.
func (t *table) replace(c *connection) {
	if c.phase == phaseReading || c.phase == phaseConnecting {
		t.leave(c)
		t.counts.Refused++
	}
	delete(t.all, c.flow)
}

// leave gives up the places of one that waits no more, though it is known for a while.
func (t *table) leave(c *connection) {
	if c.phase == phaseConnecting {
		take(t.host, c.target.To.Addr())
	}
	take(t.source, c.flow.Source.Addr())
	take(t.network, networkOf(c.flow.Source.Addr()))
	t.octets -= c.octets
	c.octets = 0
}

// take counts one less, and forgets what has none.
func take[K comparable](counts map[K]int, of K) {
	if counts[of]--; counts[of] <= 0 {
		delete(counts, of)
	}
}

func networkOf(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, 24).Masked() }

// hasRoom reports whether one more of a source may wait.
func (t *table) hasRoom(source netip.Addr) bool {
	return len(t.all) < datapath.MaxWebAnswers && t.octets < mostOctets && t.source[source] < mostOfSource &&
		t.network[networkOf(source)] < mostOfNetwork
}

// waiting is how many have not said their names, or wait for their hosts.
func (t *table) waiting() (n int) {
	for _, of := range t.source {
		n += of
	}
	return n
}

// expire ends what has waited too long, and forgets what is over.
func (t *table) expire(now model.Instant) (err error) {
	for _, c := range t.all {
		switch {
		case now.Before(c.until):
		case c.phase == phaseReading:
			err = errors.Join(err, t.end(c, now, reasonLate, nil))
		case c.phase == phaseConnecting:
			err = errors.Join(err, t.end(c, now, reasonRefused, nil))
		default:
			err = errors.Join(err, t.forget(c))
		}
	}
	return err
}
