package natlog

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/natlog/settings"
)

// collector reads messages as RFC 7011 has them.
type collector struct {
	t         *testing.T
	conn      net.PacketConn
	templates map[uint16][]field
	next      uint32 // sequence that is to come
	told      int    // times that templates were
	events    map[uint8]int
	lost      uint64
	most      int // octets of a message
}

func (c *collector) read() {
	c.t.Helper()
	buffer := make([]byte, 65536)
	_ = c.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	n, _, err := c.conn.ReadFrom(buffer)
	if err != nil {
		c.t.Fatal(err)
	}
	b := buffer[:n]
	c.most = max(c.most, n)
	if binary.BigEndian.Uint16(b) != 10 || int(binary.BigEndian.Uint16(b[2:])) != n || binary.BigEndian.Uint32(b[8:]) != c.next {
		c.t.Fatalf("header %x of %d octets, want sequence %d", b[:16], n, c.next)
	}
	for b = b[16:]; len(b) > 0; {
		id, length := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
		if length < 4 || int(length) > len(b) {
			c.t.Fatalf("a set of %d octets in %d", length, len(b))
		}
		c.set(id, b[4:length])
		b = b[length:]
	}
}

func (c *collector) set(id uint16, b []byte) {
	c.t.Helper()
	switch {
	case id == 2 || id == 3:
		c.told++
		for len(b) >= 4 {
			template, count := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
			b = b[4+2*(int(id)-2):]
			c.templates[template] = nil
			for range count {
				c.templates[template] = append(c.templates[template], field{binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])})
				b = b[4:]
			}
		}
	case c.templates[id] == nil:
		c.t.Fatalf("there is no template %d", id)
	default:
		for len(b) > 0 {
			c.next++
			for _, f := range c.templates[id] {
				switch f.element {
				case 230:
					c.events[b[0]]++
				case 168:
					c.lost = binary.BigEndian.Uint64(b)
				case 8:
					if got := netip.AddrFrom4([4]byte(b)); got != netip.AddrFrom4([4]byte{10, 0, 0, 1}) {
						c.t.Errorf("source %v", got)
					}
				case 225:
					if got := netip.AddrFrom4([4]byte(b)); got != outside {
						c.t.Errorf("source behind NAT %v", got)
					}
				}
				b = b[f.octets:]
			}
		}
	}
}

// Messages are of one packet each, sequence numbers count records, templates come again, and what was lost is said.
func TestIPFIX(t *testing.T) {
	t.Parallel()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	c := &collector{t: t, conn: conn, templates: map[uint16][]field{}, events: map[uint8]int{}}
	at := noon
	out := newIPFIX(settings.Sink{IPFIX: settings.Collector{Network: "udp", Host: conn.LocalAddr().String()}}, func() time.Time { return at })
	defer func() { _ = out.close(t.Context()) }()
	deliver := func(records ...Record) {
		t.Helper()
		before := out.sequence
		if n, err := out.deliver(t.Context(), records); n != len(records) || err != nil {
			t.Fatalf("%d of %d records, %v", n, len(records), err)
		}
		for before < out.sequence && c.next < out.sequence {
			c.read()
		}
	}
	deliver(everyKind()...)
	want := map[uint8]int{4: 1, 5: 1, 8: 1, 9: 1, 12: 1, 14: 1, 15: 1}
	for event := range uint8(20) {
		if c.events[event] != want[event] {
			t.Errorf("event %d came %d times, want %d", event, c.events[event], want[event])
		}
	}
	if c.told != 2 || c.lost != 7 {
		t.Errorf("sets of templates came %d times, and %d are said to be lost", c.told, c.lost)
	}
	var many []Record
	for range 40 * 62 { // as many as 40 messages take
		many = append(many, mapping(MappingEnded, 1, 40000))
	}
	for range 25 {
		deliver(many...)
	}
	if c.told != 4 || c.events[9] != 1+25*len(many) || c.most > 1400 || c.most < 1370 {
		t.Errorf("after %d messages templates came %d times, %d events, at most %d octets", out.messages, c.told, c.events[9], c.most)
	}
	at = at.Add(time.Minute)
	deliver()
	if c.told != 6 || c.next != out.sequence {
		t.Errorf("after a minute templates came %d times; %d of %d records", c.told, c.next, out.sequence)
	}
	over := mapping(Refused, 1, 0)
	over.Reason = "drop_host_ports"
	deliver(over)
	if c.events[13] != 1 {
		t.Errorf("quota exceeded came %d times", c.events[13])
	}
}

// What was lost is said once, also when the connection breaks while that is told.
func TestLostIsCountedOnce(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := accept(t, listener)
	out := newIPFIX(settings.Sink{IPFIX: settings.Collector{Network: "tcp", Host: listener.Addr().String()}}, time.Now)
	defer func() { _ = out.close(t.Context()) }()
	if _, err := out.deliver(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	_ = (<-accepted).Close()
	<-out.gone               //nolint:errcheck // that it is over is enough
	gone := make(chan error) // nobody has heard of that yet
	out.gone = gone
	_ = out.conn.Close()
	records := []Record{{Kind: Lost, Count: 7}, mapping(MappingBegun, 1, 40000)}
	if n, err := out.deliver(t.Context(), records); n != 0 || err == nil {
		t.Fatalf("by a broken connection %d are delivered, %v", n, err)
	}
	if n, err := out.deliver(t.Context(), records); n != 2 || err != nil || out.notSent != 7 {
		t.Errorf("%d are delivered, %v; %d are said to be lost, want 7", n, err, out.notSent)
	}
}
