package ask

import (
	"math/bits"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
	"golang.org/x/sys/unix"
)

var (
	client = packets.At("203.0.113.7:40000")
	server = packets.At("10.0.0.100:80")
)

const line = "in tcp 203.0.113.7:40000 > 10.0.0.100:80"

func now() model.Instant {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return model.Instant(ts.Nano())
}

// asking is a bed with the function alone, and somebody who reads what it holds.
type asking struct {
	*nftest.Bed
	line   *Line
	frames *Frames
}

func newAsking(t *testing.T, bytes bool) *asking {
	t.Helper()
	a := &asking{Bed: nftest.New(t), line: NewLine(bytes)}
	t.Cleanup(a.line.Close)
	a.Only(Ask{Line: a.line, Bytes: bytes})
	var err error
	if a.frames, err = a.line.Frames(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.frames.Close() })
	a.frames.reader.SetDeadline(time.Unix(1, 0)) // never wait
	if err := a.line.Beat(now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	return a
}

// first is the program that a flow's first packet meets.
func (a *asking) first(frame packets.Packet, p nf.Packet) nf.Packet {
	a.T.Helper()
	after, err := a.Run(a.Made.XDP.Chains[len(a.Made.XDP.Chains)-1], frame.Bytes(), p)
	if err != nil {
		a.T.Fatal(err)
	}
	return after
}

const held = uint8(3) // NF_HELD

// holds wants a frame to be held, and returns what was handed over.
func (a *asking) holds(frame packets.Packet, p nf.Packet) Frame {
	a.T.Helper()
	if after := a.first(frame, p); nf.Verdict(after.Verdict) != nf.Drop || after.Changed != held {
		a.T.Fatalf("%v, %d: want it held", nf.Verdict(after.Verdict), after.Changed)
	}
	f, err := a.frames.Next()
	if err != nil {
		a.T.Fatal(err)
	}
	if !reflect.DeepEqual(f.Octets, frame.Bytes()) {
		a.T.Errorf("handed over were %x", f.Octets)
	}
	return f
}

// passes wants a verdict, and nothing to be handed over.
func (a *asking) says(what string, frame packets.Packet, p nf.Packet, want nf.Verdict) nf.Packet {
	a.T.Helper()
	after := a.first(frame, p)
	if nf.Verdict(after.Verdict) != want || after.Changed == held {
		a.T.Errorf("%s: %v, changed %d, want %v", what, nf.Verdict(after.Verdict), after.Changed, want)
	}
	if f, err := a.frames.Next(); err == nil {
		a.T.Errorf("%s: handed over were %x", what, f.Octets)
	}
	return after
}

func (a *asking) answer(f Frame, says Says, lasts time.Duration) {
	a.T.Helper()
	if err := a.line.Answer(f.Flow, Verdict{Begun: f.Begun, Says: says, Mark: 7, Until: now().Add(lasts)}); err != nil {
		a.T.Fatal(err)
	}
}

var flow = Flow{Direction: model.In, Tuple: model.Tuple{Protocol: model.TCP, Source: client, Destination: server}}

// A first packet is held until there is a verdict, which holds for the same SYN sent again and for no other.
func TestFirstPacketIsHeld(t *testing.T) {
	t.Parallel()
	a := newAsking(t, false)
	syn := packets.NewTCP(client, server, packets.SYN, "")
	other := syn.Change(func(p *packets.Packet) { p.TCP.Sequence += 1 << 20 })
	p := nftest.Packet(line)
	f := a.holds(syn, p)
	if f.Flow != flow {
		t.Errorf("the flow is %+v", f.Flow)
	}
	a.holds(syn, p)
	for says, want := range map[Says]nf.Verdict{Accept: nf.Accept, Continue: nf.Accept, Drop: nf.Drop, Failed: nf.Drop} {
		before := a.Count(1).Failed
		a.answer(f, says, time.Hour)
		after := a.says("what was decided", syn, p, want)
		if says == Continue && after.Mark != 7 {
			t.Errorf("the mark is %d", after.Mark)
		}
		if failed := a.Count(1).Failed - before; (failed == 1) != (says == Failed) {
			t.Errorf("%d: %d failures", says, failed)
		}
	}
	a.holds(other, p)
	a.answer(f, Accept, -time.Second)
	a.holds(syn, p)
	open := p
	open.Opens = 0
	a.says("a flow that is open", other, open, nf.Accept)
	dry := p
	dry.Dry = 1
	a.says("a packet that nobody sent", other, dry, nf.Accept)
	if err := a.line.Beat(0); err != nil {
		t.Fatal(err)
	}
	a.says("while nobody asks", other, p, nf.Drop)
}

// Of a stream the handshake passes, and the opener's data are held, whichever come first; they have the number of the stream's first
// octet. When a verdict has let them pass nothing more is seen.
func TestFirstBytesAreHeld(t *testing.T) {
	t.Parallel()
	a := newAsking(t, true)
	syn, data := packets.NewTCP(client, server, packets.SYN, ""), packets.NewTCP(client, server, packets.ACK, "GET /")
	begun := syn.TCP.Sequence + 1
	at := func(offset uint32) packets.Packet {
		return data.Change(func(p *packets.Packet) { p.TCP.Sequence = begun + offset })
	}
	p := nftest.Packet(line)
	a.says("a SYN", syn, p, nf.Accept)
	open, answers := p, p
	open.Opens = 0
	answers.Opens, answers.Answers = 0, 1
	a.says("an acknowledgement", packets.NewTCP(client, server, packets.ACK, ""), open, nf.Accept)
	a.says("what the server says", packets.NewTCP(server, client, packets.ACK, "220"), answers, nf.Accept)
	for _, offset := range []uint32{1000, 0} {
		if f := a.holds(at(offset), open); f.Begun != begun || f.Flow != flow {
			t.Errorf("held at %d: %+v, want it to begin at %d", offset, f, begun)
		}
	}
	a.answer(Frame{Flow: flow, Begun: begun}, Accept, time.Hour)
	if after := a.says("the first data", at(0), open, nf.Accept); after.Payload != uint8(nftest.PayloadFirst) {
		t.Errorf("payload %d: first bytes are still waited for", after.Payload)
	}
	a.says("those behind", at(1000), open, nf.Accept)
	done := open
	done.Payload = uint8(nftest.PayloadDone)
	if err := a.line.Answer(flow, Verdict{Begun: begun, Says: Drop, Until: now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	a.says("what comes when it is decided", at(2000), done, nf.Accept)
	a.says("what is dropped", at(0), open, nf.Drop)
	stranger := open
	stranger.SourcePort++
	a.says("a stream whose beginning nobody has seen", at(0), stranger, nf.Drop)
	a.says("a ping", packets.NewEcho(client.Addr(), server.Addr(), 7, 1), nftest.Packet("in icmp 203.0.113.7:7 > 10.0.0.100:7"), nf.Accept)
	udp := nftest.Packet("in udp 203.0.113.7:40000 > 10.0.0.100:80")
	if f := a.holds(packets.NewUDP(client, server, "question"), udp); f.Flow.Protocol != model.UDP || f.Begun != 0 {
		t.Errorf("a datagram: %+v", f)
	}
}

// unheard wants so many frames to be counted that were held and not handed over.
func (a *asking) unheard(want int) {
	a.T.Helper()
	if got, err := a.line.Unheard(); err != nil || got != uint64(want) { //nolint:gosec // a few
		a.T.Errorf("%d frames were not heard, %v, want %d", got, err, want)
	}
}

// What the ring has no room for is held, as it comes again, and counted.
func TestRingIsFull(t *testing.T) {
	t.Parallel()
	a := newAsking(t, false)
	p, syn := nftest.Packet(line), packets.NewTCP(client, server, packets.SYN, strings.Repeat("x", 1400)).Bytes()
	const sent = int(askAskLimitASK_RING) / 1600 * 5 / 4
	for i := range sent {
		p.Source = bits.ReverseBytes32(uint32(i) << 8) // each of another network
		if after, err := a.Run(a.Made.XDP.Chains[len(a.Made.XDP.Chains)-1], syn, p); err != nil || after.Changed != held {
			t.Fatalf("%+v, %v: want it held", after, err)
		}
	}
	heard := 0
	for ; ; heard++ {
		if _, err := a.frames.Next(); err != nil {
			break
		}
	}
	if heard == 0 || heard == sent {
		t.Errorf("of %d frames %d found room", sent, heard)
	}
	a.unheard(sent - heard)
}

// A source that sends very much is heard up to its budget, and no further packet of it passes by that.
func TestSourceHasABudget(t *testing.T) {
	t.Parallel()
	a := newAsking(t, false)
	syn, p := packets.NewTCP(client, server, packets.SYN, "").Bytes(), nftest.Packet(line)
	heard, sent := 0, int(askAskLimitASK_OF_SOURCE)*3
	for range sent {
		after, err := a.Run(a.Made.XDP.Chains[len(a.Made.XDP.Chains)-1], syn, p)
		if err != nil || after.Changed != held {
			t.Fatalf("%+v, %v: want it held", after, err)
		}
		if _, err := a.frames.Next(); err == nil {
			heard++
		}
	}
	if heard == 0 || heard == sent {
		t.Errorf("of %d frames %d were heard", sent, heard)
	}
	a.unheard(sent - heard)
	p.Source++
	a.holds(packets.NewTCP(client, server, packets.SYN, "").Change(func(f *packets.Packet) {}), p)
}

// So does a network of them, be each ever so modest.
func TestNetworkHasABudget(t *testing.T) {
	t.Parallel()
	a := newAsking(t, false)
	syn := packets.NewTCP(client, server, packets.SYN, "").Bytes()
	heard, sent := 0, int(askAskLimitASK_OF_NETWORK)*3
	for i := range sent {
		p := nftest.Packet(line)
		p.Source = p.Source&0x00ffffff | uint32(i%200)<<24 // the last octet, in network byte order
		if after, err := a.Run(a.Made.XDP.Chains[len(a.Made.XDP.Chains)-1], syn, p); err != nil || after.Changed != held {
			t.Fatalf("%+v, %v: want it held", after, err)
		}
		if _, err := a.frames.Next(); err == nil {
			heard++
		}
	}
	if heard == 0 || heard == sent {
		t.Errorf("of %d frames of a network %d were heard", sent, heard)
	}
	other := nftest.Packet(line)
	other.Source ^= 1 << 16
	a.holds(packets.NewTCP(client, server, packets.SYN, "").Change(func(f *packets.Packet) {}), other)
}

// What contradicts itself is refused in words.
func TestBadSections(t *testing.T) {
	t.Parallel()
	long := "/"
	for range 108 {
		long += "a"
	}
	nftest.Refuses(t, Kind, map[string]string{
		"{first: bytes}":                "the key socket is missing",
		"{socket: run/it}":              "want an absolute path",
		"{socket: /run/it, first: x}":   "first",
		"{socket: " + long + "}":        "a path of 109 octets, and a socket's has at most 107",
		"{socket: /run/it, mark: 1}":    `unknown key "mark"`,
		"{socket: /x, timeout: 1h}":     "timeout",
		"{socket: /x, timeout: 1ms}":    "timeout",
		"{socket: /x, otherwise: drop}": "unknown key",
	})
}
