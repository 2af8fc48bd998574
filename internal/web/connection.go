package web

import (
	"cmp"
	"container/list"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/ipv4"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/web/hello"
)

// Reasons for which connections end here; the data plane drops their frames for them.
const (
	reasonUnknown   = model.Reason("drop_name_unknown")
	reasonMalformed = model.Reason("drop_name_malformed")
	reasonLate      = model.Reason("drop_name_late")
	reasonRefused   = model.Reason("drop_host_refused")
	reasonRate      = model.Reason("drop_remote_rate") // too many of a source in a second: later it may

	reasonRedirected = model.Reason("drop_redirected")
)

const (
	mostFrames  = 16                    // of a connection, that wait to be sent again
	mostRepeats = 3                     // of a first segment that its client keeps no more: while its host is silent, and then
	connectTime = 3 * time.Second       // for a host to answer, as long as a tentative session lives
	orderTime   = 50 * time.Millisecond // that the data plane keeps order at least, once it is open
	restTime    = time.Second           // what is over is known for so long: what was on its way then finds it
)

// phase is how far a connection has come.
type phase uint8

const (
	phaseReading    phase = iota // its name
	phaseConnecting              // to its host
	phaseOpen                    // it is a session
	phaseOver                    // it came to nothing
)

// connection is one that is no session yet.
type connection struct {
	flow    model.Tuple
	ifindex int
	first   segment // its first data
	next    uint32  // the client's number behind all that was heard of it
	frames  []held
	framed  int // octets of frames
	octets  int // with those of the stream
	stream  *hello.Stream
	began   model.Instant
	until   model.Instant // of its phase, but for reading
	phase   phase
	target  Target
	times   int  // its first data are sent for the SYN
	behind  int  // frames that came when it was open
	settled bool // the data plane knows it no more
	// Its client has heard that its first segment has come, and keeps it no more: we do, and have sent it again so many times.
	acknowledged bool
	repeats      int

	in *list.List // of places
	at *list.Element
}

// held is a frame that waits to be sent again.
type held struct {
	octets []byte
	offset uint32 // of its data, from the first
}

// Target is where a name leads.
type Target struct {
	Host   model.Name     // its own name
	To     netip.AddrPort // private
	Number uint32         // of the name, for who lists sessions
	// Redirect says that requests of HTTP are led to https, but those of ACME's http-01.
	Redirect bool
}

// kernel is what the core has the data plane do.
type kernel interface {
	AnswerWeb(flow model.Tuple, answer datapath.WebAnswer) error
	ForgetWeb(flow model.Tuple) error
	Replay(ifindex int, frame []byte, times int) error
	Send(ifindex int, frame []byte) error
}

// replays counts them.
type replays struct {
	kernel
	count *uint64
}

func (r replays) Replay(ifindex int, frame []byte, times int) error {
	*r.count += uint64(times) //nolint:gosec // 1 or 2
	return r.kernel.Replay(ifindex, frame, times)
}

// begun is its client's first number.
func (c *connection) begun() uint32 { return c.first.Sequence - 1 }

// has reports whether a segment is of this connection, and not of another by the same port: it acknowledges the same number of
// ours, and its own is within what a client may send before its host has answered. What the data plane takes for the first
// segment of a connection may be a later one, with a chance of one in 4,096 (bpf/handshake/syn_cookie.h).
func (c *connection) has(s segment) bool {
	return s.acknowledges == c.first.acknowledges && s.Sequence-c.first.Sequence < hello.MaxBytes
}

// add takes a segment in that came before the connection was a session.
func (c *connection) add(s segment) error {
	again := len(c.frames) > 0 && s.Sequence == c.first.Sequence && len(s.Payload) <= len(c.first.Payload)
	if !again {
		offset := s.Sequence - c.first.Sequence
		if len(c.frames) == mostFrames || offset >= hello.MaxBytes {
			return nil // its sender sends it again, or has sent more than it may
		}
		c.frames = append(c.frames, held{s.Frame, offset})
		c.framed += len(s.Frame)
	}
	err := c.stream.Add(s.Sequence, s.Payload)
	c.octets = c.framed + c.stream.Size()
	return err
}

// acknowledge has a client that has sent its first segment again send what is behind it, which was lost. Nothing else does:
// Linux takes no SACK block that begins with what is to come next (tcp_is_sackblock_valid).
func (c *connection) acknowledge(k kernel, s segment) error {
	err := k.Send(c.ifindex, s.acknowledge(uint32(len(c.first.Payload)))) //nolint:gosec // a frame's
	c.acknowledged = c.acknowledged || err == nil
	return err
}

// mayRepeat reports whether the first segment has to be sent again in its client's place.
func (c *connection) mayRepeat() bool { return c.acknowledged && c.repeats < mostRepeats }

func (c *connection) repeat(k kernel) error {
	c.repeats++
	return k.Replay(c.ifindex, c.first.Frame, 1)
}

// name reads it.
func (c *connection) name() (string, error) {
	stream := c.stream.Bytes()
	kind, known := hello.Sniff(stream)
	switch {
	case len(stream) == 0:
		return "", hello.ErrShort
	case !known:
		return "", hello.ErrMalformed
	case kind == hello.KindTLS:
		return hello.TLS(stream)
	}
	return hello.HTTP(stream)
}

// reasonOf is why a connection ends whose name could not be read.
func reasonOf(err error) model.Reason {
	if errors.Is(err, hello.ErrNoName) {
		return reasonUnknown
	}
	return reasonMalformed
}

// connect has the first data become the SYN to the host. One whose client is far away gets it twice: a host that has
// answered twice takes no sample of the round trip, which would be the gateway's and not the client's (Karn).
func (c *connection) connect(k kernel, event *datapath.WebEvent) error {
	if err := k.AnswerWeb(c.flow, datapath.WebAnswer{Begun: c.begun(), Host: c.target.To, Name: c.target.Number}); err != nil {
		return err
	}
	c.times = 1
	if c.first.isFar(clockOf(event)) {
		c.times = 2
	}
	c.phase, c.until, c.repeats = phaseConnecting, event.At.Add(connectTime), 0
	return k.Replay(c.ifindex, c.first.Frame, c.times)
}

// open sends all again that came meanwhile, in the client's order. The data plane lets pass no more than what is next until it
// has forgotten the connection (bpf/handshake/order.h).
func (c *connection) open(k kernel, now model.Instant) error {
	c.phase, c.until, c.repeats = phaseOpen, now.Add(restTime), 0
	slices.SortStableFunc(c.frames, func(a, b held) int { return cmp.Compare(a.offset, b.offset) })
	var errs []error
	for _, frame := range c.frames {
		errs = append(errs, k.Replay(c.ifindex, frame.octets, 1))
	}
	c.frames, c.stream = nil, nil
	return errors.Join(errs...)
}

// end has it come to nothing for a reason of ours: the first data are shown to the data plane once more, which counts them
// for it.
func (c *connection) end(k kernel, now model.Instant, reason model.Reason, words []byte) error {
	err := errors.Join(c.give(k, now, reason), k.Replay(c.ifindex, c.first.Frame, 1), c.tell(k, words))
	c.stream = nil
	return err
}

// refused is the same for a reason of the data plane's.
func (c *connection) refused(k kernel, now model.Instant, reason model.Reason) error {
	return errors.Join(c.give(k, now, reason), c.tell(k, nil))
}

// give has what its client sends again be dropped for the reason.
func (c *connection) give(k kernel, now model.Instant, reason model.Reason) error {
	c.phase, c.until, c.frames = phaseOver, now.Add(restTime), nil
	return k.AnswerWeb(c.flow, datapath.WebAnswer{Begun: c.begun(), Reason: reason})
}

// tell sends words and our end to the client, or an RST where there are none.
func (c *connection) tell(k kernel, words []byte) error {
	if words == nil {
		return k.Send(c.ifindex, c.first.answer(ipv4.RST, c.first.acknowledges, 0, nil))
	}
	seen := c.first.Sequence + uint32(len(c.stream.Bytes()))
	return k.Send(c.ifindex, c.first.answer(ipv4.PSH|ipv4.ACK|ipv4.FIN, c.first.acknowledges, seen, words))
}
