package dut

import (
	"encoding/binary"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// attribute appends one as the kernel writes it.
func attribute(m []byte, kind uint16, value []byte) []byte {
	q := queueMessage(m)
	q.add(kind, value...)
	return q
}

func packetMessage() []byte {
	m := []byte(newQueueMessage(messagePacket, 0, 3))
	m = attribute(m, attributePacketHeader, []byte{0, 0, 1, 2, 8, 0, 0})
	m = attribute(m, 5, []byte{0, 0, 0, 9}) // an interface
	return attribute(m, attributePayload, []byte{0x45, 1, 2, 3, 4})
}

func TestParseQueued(t *testing.T) {
	q, err := parseQueued(packetMessage())
	if err != nil || q.id != 0x102 || string(q.packet) != "\x45\x01\x02\x03\x04" {
		t.Errorf("got id %#x, packet %x, %v", q.id, q.packet, err)
	}
}

func TestParseQueuedRefusesWhatIsNone(t *testing.T) {
	short := packetMessage()
	binary.NativeEndian.PutUint16(short[queueHeader:], 2) // an attribute shorter than its header
	long := packetMessage()
	binary.NativeEndian.PutUint16(long[queueHeader:], 500)
	for name, m := range map[string][]byte{
		"nothing": nil, "a header alone": newQueueMessage(messagePacket, 0, 0), "another kind": newQueueMessage(messageConfig, 0, 0),
		"a short attribute": short, "a long attribute": long,
	} {
		if _, err := parseQueued(m); !errors.Is(err, errNoPacket) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzParseQueued(f *testing.F) {
	f.Add(packetMessage())
	f.Fuzz(func(t *testing.T, m []byte) {
		q, err := parseQueued(m)
		if err == nil && len(q.packet) > len(m) {
			t.Errorf("a packet of %d octets in a message of %d", len(q.packet), len(m))
		}
	})
}

func TestVerdictSaysWhichPacketsAndMark(t *testing.T) {
	m := verdictTemplate(3)
	m.setVerdict(0x102, markPass)
	want := []byte{0, 0, 0, 3, // struct nfgenmsg: any family, version 0, queue 3
		12, 0, 2, 0, 0, 0, 0, 1, 0, 0, 1, 2, // accept, up to 0x102
		8, 0, 3, 0, 0, 0, 0, markPass}
	if got := string(m[netlinkHeader:]); got != string(want) {
		t.Errorf("got %x, want %x", got, want)
	}
	if length := binary.NativeEndian.Uint32(m); int(length) != len(m) {
		t.Errorf("the message says it has %d octets and has %d", length, len(m))
	}
}

func TestParseAnswer(t *testing.T) {
	refused := make([]byte, netlinkHeader+4)
	binary.NativeEndian.PutUint16(refused[4:], unix.NLMSG_ERROR)
	if err := parseAnswer(refused); err != nil {
		t.Errorf("an answer without an error: got %v", err)
	}
	code := int32(unix.EBUSY)
	binary.NativeEndian.PutUint32(refused[netlinkHeader:], uint32(-code))
	if err := parseAnswer(refused); !errors.Is(err, unix.EBUSY) {
		t.Errorf("got %v, want EBUSY", err)
	}
	if err := parseAnswer(refused[:8]); err == nil {
		t.Error("a short answer was taken")
	}
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		packet []byte
		mark   uint32
	}{"IPv4": {append([]byte{0x45}, make([]byte, 19)...), markPass}, "cut short": {[]byte{0x45}, markDrop}, "IPv6": {append([]byte{0x60}, make([]byte, 39)...), markDrop}} {
		if got := judge(c.packet); got != c.mark {
			t.Errorf("%s: got mark %d, want %d", name, got, c.mark)
		}
	}
}
