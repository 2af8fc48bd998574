package web

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// One later segment in 4,096 passes for the first of its connection, as the hash that knows the client's first number has
// 12 bits. It is of the connection all the same.
func TestLaterSegmentThatPassesForTheFirst(t *testing.T) {
	t.Parallel()
	passes := func(offset uint32, data string) datapath.WebEvent {
		e := later(offset, data)
		e.Kind = datapath.WebFirst
		return e
	}
	b := newBed(t)
	b.hears(first(request[:20]))
	b.hears(passes(20, request[20:]), "answer 10.0.0.100:8080", fmt.Sprintf("replay %q x2", request[:20]))
	b.hears(passes(uint32(len(request)), "more"))
	b.hears(about(datapath.WebOpened, ""), fmt.Sprintf("replay %q x1", request[:20]), fmt.Sprintf("replay %q x1", request[20:]), `replay "more" x1`)
	b.hears(passes(uint32(len(request)+4), "late"), `replay "late" x1`)
	if b.counts.Refused != 0 {
		t.Errorf("%+v", b.counts)
	}
	// Another connection by the same port has a cookie of its own.
	b.hears(anew(request), "forget", "answer 10.0.0.100:8080", fmt.Sprintf("replay %q x2", request))
}

// anew is another connection by the same port: its first number is another, and so is its cookie.
func anew(data string) datapath.WebEvent {
	return datapath.WebEvent{Kind: datapath.WebFirst, Flow: flowOf(visitor), Frame: frame(flowOf(visitor), anewAt, data,
		func(p *packets.Packet) { p.TCP.Acknowledge++ })}
}

const anewAt = 5000 // octets on

// A client begins anew by the same port, whatever has become of the connection before: its name is read, and what is heard of
// that one is of no other.
func TestPortAgain(t *testing.T) {
	t.Parallel()
	connects := []string{"answer 10.0.0.100:8080", fmt.Sprintf("replay %q x2", request)}
	for name, c := range map[string]struct {
		events []datapath.WebEvent
		left   uint64
		told   bool // the data plane was told something of it
	}{
		"while its name is read":      {[]datapath.WebEvent{first("GET")}, 1, false},
		"while its host is asked":     {[]datapath.WebEvent{first(request)}, 1, true},
		"when it is open":             {[]datapath.WebEvent{first(request), about(datapath.WebOpened, "")}, 0, true},
		"when it has come to nothing": {[]datapath.WebEvent{first(strange)}, 1, true},
	} {
		b := newBed(t)
		for _, e := range c.events {
			e.At = b.now
			if err := b.hear(&e); err != nil {
				t.Fatal(name, err)
			}
		}
		b.kernel.did = nil
		want := connects
		if c.told {
			want = append([]string{"forget"}, connects...)
		}
		b.hears(anew(request), want...)
		if a := b.kernel.answers[flowOf(visitor)]; a.Begun != begun+anewAt {
			t.Errorf("%s: what is said is of %d, want %d", name, a.Begun, begun+anewAt)
		}
		for _, kind := range []datapath.WebEventKind{datapath.WebOpened, datapath.WebRefused, datapath.WebWeak} {
			b.hears(about(kind, "drop_host_refused"))
		}
		if b.counts.Refused != c.left || len(b.all) != 1 || b.source[visitor.Addr()] != 1 || len(b.host) != 1 {
			t.Errorf("%s: %+v", name, b.table)
		}
		e := about(datapath.WebOpened, "")
		e.Begun += anewAt
		b.hears(e, fmt.Sprintf("replay %q x1", request))
		b.waits(time.Second, "forget")
		if len(b.all)+len(b.source)+len(b.network)+len(b.host)+b.octets != 0 {
			t.Errorf("%s: left are %+v", name, b.table)
		}
	}
}

// Who has no place for another connection by the same port leaves nothing of the one before in the data plane.
func TestPortAgainWithoutRoom(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.hears(first(strange), "answer  drop_name_unknown", fmt.Sprintf("replay %q x1", strange), "send FIN|PSH|ACK 5001 1040 HTTP/1.1 421 Misdirected Request")
	for i := range mostOfSource {
		b.says(netip.AddrPortFrom(visitor.Addr(), uint16(1000+i)), datapath.WebFirst, 0, "GET")
	}
	b.hears(anew("GET"), "forget")
	if len(b.kernel.answers) != 0 || len(b.all) != mostOfSource || b.counts.Full != 1 {
		t.Errorf("left are %v, %d are known, %+v", b.kernel.answers, len(b.all), b.counts)
	}
}

// The data plane's answers are of connections and of attempts by QUIC together.
func TestRoomOfAnswers(t *testing.T) {
	t.Parallel()
	if most := newTable(nil, nil, nil).most + mostAttempts; most > datapath.MaxWebAnswers {
		t.Errorf("%d may be known, and there are %d answers", most, datapath.MaxWebAnswers)
	}
}

// Whose name is read or whose host is asked sends its first data again; other data are new.
func TestAgainIsCounted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	half := len(request) / 2
	for range 2 {
		b.says(visitor, datapath.WebFirst, 0, request[:half])
	}
	b.says(visitor, datapath.WebLater, uint32(half), request[half:])
	b.says(visitor, datapath.WebFirst, 0, request[:half])
	b.says(visitor, datapath.WebLater, uint32(len(request)), "more")
	b.says(visitor, datapath.WebOpened, 0, "")
	b.says(visitor, datapath.WebFirst, 0, request[:half])
	if b.counts.Again != 2 || b.counts.Replayed != 2+1+3+1 { // the first segment, which was acknowledged, with what comes again
		t.Errorf("%+v", b.counts)
	}
}
