package ask

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/ipv4"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	nfask "github.com/realmgate/realmgate/internal/nf/ask"
)

var server = netip.MustParseAddrPort("10.0.0.100:80")

// world is a kernel and a program for a table. It notes what is done, in order.
type world struct {
	*table
	t    *testing.T
	done []string
	sent [][]byte // replayed
	seen []string // data of questions
	now  model.Instant
}

func newWorld(t *testing.T, bytes bool) *world {
	w := &world{t: t, now: 1}
	w.table = newTable(bytes, time.Second, w, w, func(f *flow) {
		w.done = append(w.done, fmt.Sprint("ask ", f.id))
		w.seen = append(w.seen, string(f.data(bytes)))
	})
	return w
}

func (w *world) Answer(_ nfask.Flow, v nfask.Verdict) error {
	w.done = append(w.done, fmt.Sprintf("answer %d mark %d", v.Says, v.Mark))
	return nil
}

func (w *world) Replay(_ int, frame []byte, _ int) error {
	w.done, w.sent = append(w.done, "replay"), append(w.sent, frame)
	return nil
}

func (w *world) Send(_ int, frame []byte) error {
	w.done, w.sent = append(w.done, "send"), append(w.sent, frame)
	return nil
}

func (w *world) ReplayInside(_ int, frame []byte) error {
	w.done, w.sent = append(w.done, "replay inside"), append(w.sent, frame)
	return nil
}

func (w *world) SendInside(_ int, frame []byte) error {
	w.done, w.sent = append(w.done, "send inside"), append(w.sent, frame)
	return nil
}

// did wants what was done since it was asked last.
func (w *world) did(when string, want ...string) {
	w.t.Helper()
	if !slices.Equal(w.done, want) {
		w.t.Errorf("%s: %q, want %q", when, w.done, want)
	}
	w.done = nil
}

func from(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, byte(n >> 8), byte(n)}), 40000)
}

const begun = 1000

// says is a held segment at an offset of the stream of a client.
func says(client netip.AddrPort, offset uint32, text string) nfask.Frame {
	p := packets.NewTCP(client, server, packets.ACK, text).Change(func(p *packets.Packet) { p.TCP.Sequence, p.TCP.Acknowledge = begun+offset, 77 })
	return nfask.Frame{
		Flow: nfask.Flow{Direction: model.In, Tuple: model.Tuple{Protocol: model.TCP, Source: client, Destination: server}}, Begun: begun, Interface: 1, Octets: p.Bytes(),
	}
}

func (w *world) hold(f nfask.Frame) {
	w.t.Helper()
	if err := w.hear(f, w.now); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) says(id uint64, verdict string) {
	w.t.Helper()
	if err := w.answer(Answer{ID: id, Verdict: verdict, Mark: 9}, w.now); err != nil {
		w.t.Fatal(err)
	}
}

// wait lets time go by.
func (w *world) wait(d time.Duration) {
	w.t.Helper()
	w.now = w.now.Add(d)
	if err := w.expire(w.now); err != nil {
		w.t.Fatal(err)
	}
}

// A verdict is put down before the frames are sent again, in their order; what was on its way then goes on at once, and is no other flow.
func TestVerdict(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	w.hold(says(from(1), 0, "some"))
	w.hold(says(from(1), 0, "some"))
	w.did("held", "ask 1")
	w.says(2, "accept")
	w.did("an answer about no flow")
	w.says(1, "continue")
	w.did("decided", "answer 1 mark 9", "replay", "replay")
	w.says(1, "drop")
	w.did("a second answer")
	w.hold(says(from(1), 0, "some"))
	w.did("on its way", "replay")
	if string(w.seen[0]) != string(says(from(1), 0, "some").Octets[14:]) {
		t.Errorf("the program sees %q", w.seen[0])
	}
	w.wait(restTime)
	if w.hold(says(from(1), 0, "some")); len(w.flows) != 1 {
		t.Errorf("%d flows are known", len(w.flows))
	}
	w.did("later it is another flow", "ask 2")
}

// A stream is shown from its first octet, as it grows and while the program wants more; what overtakes the first waits for it.
func TestStreamGrows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	w.hold(says(from(1), 3, "DEF"))
	w.did("what overtook the first")
	w.hold(says(from(1), 0, "ABC"))
	w.did("the first", "ask 1")
	w.hold(says(from(1), 6, "GH"))
	w.did("while the program thinks")
	w.says(1, more)
	w.did("it wants more, and there is", "ask 1")
	w.says(1, more)
	w.did("there is none")
	w.hold(says(from(1), 8, "I"))
	w.did("now there is", "ask 1")
	w.says(1, "accept")
	w.did("it is enough", "answer 2 mark 9", "replay", "replay", "replay", "replay")
	if want := []string{"ABCDEF", "ABCDEFGH", "ABCDEFGHI"}; !slices.Equal(w.seen, want) {
		t.Errorf("the program saw %q, want %q", w.seen, want)
	}
	w.hold(says(from(2), 0, "ABC"))
	w.hold(says(from(2), 0, "abc"))
	w.did("what differs from what was there", "ask 2", "answer 4 mark 0", "replay", "replay")
}

// Both ends of a stream that is dropped are reset, by numbers that each takes for the next.
func TestDroppedStreamIsReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	w.hold(says(from(1), 3, "DEF"))
	w.hold(says(from(1), 0, "ABC"))
	w.says(1, "drop")
	w.did("dropped", "ask 1", "answer 3 mark 9", "replay", "replay", "replay", "send")
	on, back := packets.NewTCP(from(1), server, packets.RST|packets.ACK, ""), packets.NewTCP(server, from(1), packets.RST, "")
	on = on.Change(func(p *packets.Packet) { p.TCP.Sequence, p.TCP.Acknowledge = begun, 77 })
	back = back.Change(func(p *packets.Packet) { p.TCP.Sequence, p.TCP.Acknowledge = 77, 0 })
	for i, want := range []packets.Packet{on, back} {
		got, err := ipv4.Parse(w.sent[2+i])
		if err != nil {
			t.Fatal(err)
		}
		of, _ := ipv4.Parse(want.Bytes())
		sameEnds := bytes.Equal(got.IP[12:20], of.IP[12:20]) && bytes.Equal(got.Transport()[:14], of.Transport()[:14])
		if !sameEnds || !isWhole(got.Frame) {
			t.Errorf("reset %d is %x, want %x", i, got.IP, of.IP)
		}
	}
}

// What came from inside is sent again from there.
func TestFromInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	f := says(from(1), 0, "ABC")
	f.Flow.Direction = model.Out
	w.hold(f)
	w.says(1, "drop")
	w.did("dropped", "ask 1", "answer 3 mark 9", "replay inside", "replay inside", "send inside")
}

// Without an answer a flow fails in its time, and a program that begins anew is asked about those that still wait.
func TestTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	w.hold(says(from(1), 0, "some"))
	w.wait(time.Second / 2)
	w.hold(says(from(2), 0, "some"))
	w.did("held", "ask 1", "ask 2")
	w.wait(time.Second / 2)
	w.did("the first had its time", "answer 4 mark 0", "replay")
	w.unanswered()
	w.did("a new program", "ask 2")
	if w.says(1, "accept"); w.counts.Failed != 1 {
		t.Errorf("counted %+v", w.counts)
	}
	w.did("too late")
}

// No source takes the places of another, nor all of them together more than there are; when they have been decided there is room again.
func TestBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	at := func(network, source, port int) nfask.Frame {
		return says(netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, byte(network), byte(source)}), uint16(1000+port)), 0, "some")
	}
	for i := range mostOfSource + 10 {
		w.hold(at(1, 1, i))
	}
	if w.waits != mostOfSource || w.counts.Full != 10 {
		t.Errorf("%d flows of one source wait, %+v", w.waits, w.counts)
	}
	for i := range mostOfNetwork {
		w.hold(at(1, 2+i/mostOfSource, i%mostOfSource))
	}
	if w.waits != mostOfNetwork {
		t.Errorf("%d flows of one network wait", w.waits)
	}
	for i := range mostFlows {
		w.hold(at(2+i/mostOfSource, 1, i%mostOfSource))
	}
	if w.waits != mostFlows {
		t.Errorf("%d flows wait", w.waits)
	}
	for range 2 * mostFrames {
		w.hold(at(1, 1, 0))
	}
	if f := w.ids[1]; len(f.packets) != mostFrames {
		t.Errorf("%d frames of a flow wait", len(f.packets))
	}
	w.wait(time.Second)
	if w.waits != 0 || w.octets != 0 || len(w.sources) != 0 {
		t.Errorf("%d flows of %d sources wait with %d octets when all had their time", w.waits, len(w.sources), w.octets)
	}
	if w.wait(restTime); len(w.flows)+len(w.ids) != 0 {
		t.Errorf("%d flows are still known", len(w.flows))
	}
}

// The memory of what waits is bounded, too, of a network and in all: what is beyond is not kept, and who has little is heard.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	large := string(make([]byte, 9000))
	for i := range mostFlows {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, byte(i % 8), byte(i >> 3)}), 1000)
		for range mostFrames {
			w.hold(says(from, 0, large))
		}
	}
	for network, has := range w.sources {
		if network.Bits() == 24 && has.octets > mostOctetsOfNetwork+len(large)+100 {
			t.Errorf("%s has %d octets", network, has.octets)
		}
	}
	if w.octets > mostOctets+len(large)+100 || w.octets < mostOctets/2 {
		t.Errorf("%d octets wait", w.octets)
	}
	w.wait(time.Second)
	if w.octets != 0 || len(w.sources) != 0 {
		t.Errorf("%d octets of %d sources are left", w.octets, len(w.sources))
	}
}

// What another sends again is not sent by the table; a frame that is none does nothing.
func TestOthersFrames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	taken := errors.New("not now")
	w.again = func(*ipv4.Packet) (bool, error) { return true, taken }
	w.hold(nfask.Frame{Octets: make([]byte, 60)})
	w.did("no packet")
	w.hold(says(from(1), 0, "some"))
	if err := w.answer(Answer{ID: 1, Verdict: "accept"}, w.now); !errors.Is(err, taken) {
		t.Errorf("%v", err)
	}
	w.did("taken", "ask 1", "answer 2 mark 0")
}

// An aggregate is sent again as the packets that it is of, and a checksum that was left to an interface is filled in.
func TestAggregate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	f := says(from(1), 0, "ABCDEFGHIJ")
	f.Each = 4
	f.Octets[47] |= ipv4.FIN | ipv4.PSH
	w.hold(f)
	w.says(1, "accept")
	w.did("three", "ask 1", "answer 2 mark 9", "replay", "replay", "replay")
	var all string
	for i, frame := range w.sent {
		p, err := ipv4.Parse(frame)
		if err != nil || p.Sequence != begun+uint32(len(all)) || !isWhole(frame) {
			t.Errorf("packet %d is %x, %v", i, frame, err)
		}
		if last := i == 2; p.Has(ipv4.FIN|ipv4.PSH) != last {
			t.Errorf("packet %d has flags %x", i, p.Transport()[13])
		}
		all += string(p.Payload)
	}
	if all != "ABCDEFGHIJ" || w.seen[0] != all {
		t.Errorf("sent again were %q, seen %q", all, w.seen[0])
	}
	octets := says(from(1), 0, "ABC").Octets
	want := slices.Clone(octets)
	p, _ := ipv4.Parse(octets)
	p.Leave()
	if list, err := parsePackets(octets, 0); err != nil || !bytes.Equal(list[0].Frame, want) {
		t.Errorf("completed to %x, want %x", octets, want)
	}
}

// isWhole reports whether lengths and checksums are right.
func isWhole(frame []byte) bool {
	p, err := packets.Parse(frame)
	return err == nil && bytes.Equal(p.Bytes(), frame)
}
