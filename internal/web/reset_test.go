package web

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// resets is an RST of the client behind so many octets, which acknowledges our cookie and so many more.
func resets(offset, more uint32) datapath.WebEvent {
	return datapath.WebEvent{Kind: datapath.WebLater, Flow: flowOf(visitor), Frame: frame(flowOf(visitor), offset, "", func(p *packets.Packet) {
		p.TCP.Flags = packets.RST | packets.ACK
		p.TCP.Acknowledge += more
	})}
}

// A client that goes before it has said a name leaves its place, by its very next number alone. What was on its way begins nothing.
func TestClientGoes(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.hears(resets(0, 0)) // of nobody who waits
	b.hears(first(request[:20]))
	b.hears(later(25, request[25:30])) // the segment before it is lost
	for _, forged := range []datapath.WebEvent{resets(0, 0), resets(20, 0), resets(29, 0), resets(31, 0), resets(30, 1)} {
		b.hears(forged)
		if b.waiting() != 1 {
			t.Fatalf("a guess ends it: %x", forged.Frame)
		}
	}
	b.hears(resets(30, 0))
	if c := b.counts; b.waiting() != 0 || b.octets != 0 || len(b.source)+len(b.network) != 0 || c.Refused != 1 {
		t.Errorf("left are %+v", b.table)
	}
	b.hears(first(request))
	b.hears(resets(30, 0))
	b.waits(time.Second, "forget")
	if len(b.all) != 0 || b.counts.Refused != 1 {
		t.Errorf("left are %+v", b.table)
	}
}

// One whose host is asked, or has answered, ends there: the RST reaches it behind the data.
func TestClientGoesLater(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.hears(first(request), "answer 10.0.0.100:8080", `replay "GET / HTTP/1.1\r\nHost: www.example\r\n\r\n" x2`)
	b.hears(resets(uint32(len(request))+1, 0))
	b.hears(resets(uint32(len(request)), 0))
	if b.waiting() != 1 {
		t.Error("its host is forgotten")
	}
	b.hears(about(datapath.WebOpened, ""), `replay "GET / HTTP/1.1\r\nHost: www.example\r\n\r\n" x1`, `replay "" x1`)
	b.hears(resets(uint32(len(request)), 0), `replay "" x1`)
}
