package web

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/ipv4"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/web/hello"
)

const reasonVersion = model.Reason("drop_quic_version")

// attemptTime is how long the Initials of an attempt may take: a client sends them at once, and again after a second.
const attemptTime = time.Second

// attempt is one to connect by QUIC that is no session yet, or was none a moment ago.
type attempt struct {
	flow     model.Tuple
	begun    uint32 // tells it from others by the same port
	turn     int    // how many of these were before it
	ifindex  int
	frames   [][]byte
	initials *hello.Initials
	began    model.Instant
	until    model.Instant // of its phase
	phase    phase
	target   Target // of an open one; none of what goes to the session that stands
}

// begunOf tells connections by the same port apart: how the ID begins that a client has chosen for its host (quic_begun,
// bpf/handshake/connection_id.h). RFC 8999 section 5.1 says where that stands, whatever the version.
func begunOf(datagram []byte) uint32 {
	const at, size = 6, 4
	if len(datagram) < at+size {
		return 0
	}
	return binary.NativeEndian.Uint32(datagram[at:])
}

// add takes a datagram in, and reads the name.
func (a *attempt) add(d ipv4.Packet) (string, error) {
	a.frames = append(a.frames, d.Frame)
	return a.initials.Add(d.Payload)
}

// open has the datagrams go to their host, in the order in which they came: the first one opens the session. The answer stays
// until the attempt is forgotten, as a frame that is sent again may take its time.
func (a *attempt) open(k kernel, now model.Instant, to Target) error {
	a.target = to
	return a.again(k, now, datapath.WebAnswer{Begun: a.begun, Host: to.To, Name: to.Number})
}

// goOn has them go to the session that stands: they are of its connection.
func (a *attempt) goOn(k kernel, now model.Instant) error {
	return a.again(k, now, datapath.WebAnswer{Begun: a.begun})
}

func (a *attempt) again(k kernel, now model.Instant, answer datapath.WebAnswer) error {
	a.phase, a.until = phaseOver, now.Add(restTime) // without an answer, what is sent again would come back
	if err := k.AnswerWeb(a.flow, answer); err != nil {
		return err
	}
	a.phase = phaseOpen
	var errs []error
	for _, frame := range a.frames {
		errs = append(errs, k.Replay(a.ifindex, frame, 1))
	}
	a.frames = nil
	return errors.Join(errs...)
}

// end has it come to nothing: its client hears nothing, and what it sends again is dropped for the reason. The first datagram
// is shown to the data plane once more, which counts it.
func (a *attempt) end(k kernel, now model.Instant, reason model.Reason) error {
	a.phase, a.until = phaseOver, now.Add(restTime)
	first := a.frames[0]
	a.frames = nil
	if err := k.AnswerWeb(a.flow, datapath.WebAnswer{Begun: a.begun, Reason: reason}); err != nil {
		return err
	}
	return k.Replay(a.ifindex, first, 1)
}
