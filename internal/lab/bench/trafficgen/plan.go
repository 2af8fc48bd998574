package trafficgen

import (
	"fmt"
	"math"
	"time"
)

// Direction is the way frames go.
type Direction int

// Forward is from the initiator to the responder. With Both they take turns.
const (
	Forward Direction = iota
	Reverse
	Both
)

// String returns the direction's name.
func (d Direction) String() string { return [...]string{"forward", "reverse", "both"}[d] }

// Plan is one trial of the generator.
type Plan struct {
	Flows     Flows
	Frames    int       // of both directions together, at most MaxFrames for each
	Rate      float64   // frames per second, of both directions together, 1 to MaxRate; 0 is as fast as can be
	Direction Direction // backward only flows that the responder has seen in this epoch
	Random    bool      // flows drawn at random, instead of each once in pseudorandom order
	Length    int       // octets of a frame, its check sequence with it: 64 to 1518
	Epoch     uint16    // 1 to 65535: a new one forgets what the responder has seen

	// Window is how many frames may be under way; 0 is any number. A trial whose
	// frames stop arriving ends after Wait.
	Window int
	// TCP sends, for each flow, one session of TCPSteps packets, both ends of it.
	// As many sessions as the Window go in step: each takes its next one when all
	// have done the last, or at a Rate when it is due, whether or not the last came; what
	// an end never heard of it does not answer. Direction, Random, StampEvery and
	// VerifyEvery do not apply: every packet is verified. Data segments are of
	// Length, the other packets as short as can be.
	TCP bool

	// Pool is where translated sources lie; the zero value says that the device
	// translates nothing.
	Pool Addresses
	// DNAT is what the device does to destinations; the zero value is nothing.
	DNAT DNAT

	// Part is how many frames are sent before Between is called, which may let others
	// use the CPU: the time that it takes is no part of the trial. 0 is all frames. A
	// plan with a Rate, or of TCP sessions, has none.
	Part    int
	Between func() error

	StampEvery  int // how many frames for one that carries the time, a power of two; 0 is none
	VerifyEvery int // how many frames for one whose checksums are verified, a power of two; 0 is none

	CPU   int           // that the generator runs on, or AnyCPU
	Batch int           // frames that the generator sends at a time, 1 to 256; 0 is 64, or 16 at a rate
	Wait  time.Duration // for stragglers, after the last frame; RFC 2544 section 26.1 has 2 s
}

// MaxFrames is how many frames of one direction a trial can tell apart.
const MaxFrames = int(bpfTrafficgenLimitSEQUENCE_WORDS) * 64

// MaxRate is the highest rate that a trial can ask for. The time between two
// frames is counted in 1/1024 ns, so that there the rate is exact to 1 in 10,000,
// and at lower ones the better.
const MaxRate = 100e6

const (
	leastLength = 64
	mostLength  = 1518
	checkLength = 4 // the frame check sequence, which no program sees
)

// check returns an error for what cannot be sent.
func (p Plan) check() error {
	if err := p.Flows.Check(); err != nil {
		return err
	}
	most := MaxFrames
	if p.Direction == Both {
		most *= 2
	}
	switch {
	case p.Frames < 1 || p.Frames > most:
		return fmt.Errorf("%d frames: want 1 to %d", p.Frames, most)
	case p.Length < leastLength || p.Length > mostLength:
		return fmt.Errorf("frames of %d octets: want %d to %d", p.Length, leastLength, mostLength)
	case p.Epoch == 0:
		return fmt.Errorf("epoch 0: want 1 to 65535")
	case p.Rate != 0 && !(p.Rate >= 1 && p.Rate <= MaxRate):
		return fmt.Errorf("%g frames per second: want 1 to %g", p.Rate, MaxRate)
	case p.Part != 0 && (p.Rate > 0 || p.TCP):
		return fmt.Errorf("parts of %d frames at a rate or of TCP sessions", p.Part)
	case p.Window < 0 || p.Window > MaxFrames:
		return fmt.Errorf("%d frames under way: want 0 to %d", p.Window, MaxFrames)
	}
	return p.checkTCP()
}

func (p Plan) encode(trial uint16, macs [2][3]uint32) bpfTrafficgenPlan {
	e := bpfTrafficgenPlan{
		Length: uint32(p.Length - checkLength),
		Trial:  trial, Epoch: p.Epoch, Direction: uint8(p.Direction),
		Stamp: exponent(p.StampEvery), Verify: exponent(p.VerifyEvery), Mac: macs,
		Window: uint32(p.Window),
	}
	if p.TCP {
		e.TcpBlock, e.TcpShift = uint32(p.Window), p.tcpShift()
		if p.Rate > 0 { // which goes on, whatever comes
			e.Window = 0
		}
	}
	if p.Random {
		e.Order = uint8(bpfTrafficgenOrderORDER_RANDOM)
	}
	if p.Rate > 0 {
		e.Interval = uint64(math.Round(1024 * 1e9 / p.Rate))
	}
	if p.Pool != (Addresses{}) {
		e.PoolFirst, e.PoolLast = numberOf(p.Pool.First), numberOf(p.Pool.Last())
	}
	if p.DNAT != (DNAT{}) {
		e.Dnat = numberOf(p.DNAT.To) - numberOf(p.DNAT.From.First)
	}
	p.Flows.plan(&e)
	return e
}

// exponent returns n for 2^n, and what matches no sequence number but the first
// for 0.
func exponent(every int) uint8 {
	if every == 0 {
		return 32
	}
	n := uint8(0)
	for ; every > 1; every /= 2 {
		n++
	}
	return n
}

// Counters is what one sink saw.
type Counters struct {
	Received     uint64 `json:"received"`  // all that came, wherever and however often
	Duplicate    uint64 `json:"duplicate"` // came to the right endpoint before
	Reordered    uint64 `json:"reordered"`
	Untranslated uint64 `json:"untranslated"` // the source is not one of the device's
	Misdirected  uint64 `json:"misdirected"`  // at the wrong endpoint
	Moved        uint64 `json:"moved"`        // from another external endpoint than before
	Corrupt      uint64 `json:"corrupt"`      // a checksum is wrong
	Other        uint64 `json:"other"`        // not of this trial
}

// Wrong returns how many faults there are in the frames that came.
func (c Counters) Wrong() uint64 {
	return c.Duplicate + c.Untranslated + c.Misdirected + c.Moved + c.Corrupt
}

// right is how many came to the right endpoint, each once.
func (c Counters) right() uint64 { return c.Received - c.Duplicate - c.Misdirected }

// Outcome is what came of a Plan.
type Outcome struct {
	Sent      uint64        `json:"sent"`
	Missing   uint64        `json:"missing"` // not sent back: the responder never saw their flow
	Elapsed   time.Duration `json:"elapsed"` // from the first frame sent to the last one sent or, without a rate, arrived
	Waited    time.Duration `json:"waited"`  // by the generator, for its CPU
	Stalled   time.Duration `json:"stalled"` // by which a rate's schedule was put off, since the generator had to wait for its CPU
	Initiator Counters      `json:"initiator"`
	Responder Counters      `json:"responder"`
	Latency   Latency       `json:"latency"` // empty unless frames were stamped
	Parts     []Part        `json:"parts"`   // one, unless the plan has several
}

// Part is what is told of a part of the frames by itself.
type Part struct {
	Sent            uint64
	Elapsed, Waited time.Duration
	Out             bool // it does not count in the rate
}

// after returns what came of all parts of a plan until now: o is what was read when the
// last of them was over, whose times are of that part alone.
func (o Outcome) after(before Outcome, waited time.Duration) Outcome {
	o.Parts = append(before.Parts, Part{Sent: o.Sent - before.Sent, Elapsed: o.Elapsed, Waited: waited})
	o.Elapsed, o.Waited = before.Elapsed+o.Elapsed, before.Waited+waited
	return o
}

// Received returns how many frames came to where they belong, duplicates not counted.
func (o Outcome) Received() uint64 { return o.Initiator.right() + o.Responder.right() }

// Lost returns how many did not.
func (o Outcome) Lost() uint64 { return o.Sent - min(o.Received(), o.Sent) }

// LossRatio returns the share of the frames asked for that did not come, also
// since there was nothing to send them to.
func (o Outcome) LossRatio() float64 {
	return float64(o.Lost()+o.Missing) / float64(max(o.Sent+o.Missing, 1))
}

// Wrong returns how many faults there are in the frames that came.
func (o Outcome) Wrong() uint64 { return o.Initiator.Wrong() + o.Responder.Wrong() }

// Rate returns the frames sent per second, in all parts that count.
func (o Outcome) Rate() float64 {
	var sent uint64
	var elapsed time.Duration
	for _, p := range o.Parts {
		if !p.Out {
			sent, elapsed = sent+p.Sent, elapsed+p.Elapsed
		}
	}
	return float64(sent) / elapsed.Seconds()
}
