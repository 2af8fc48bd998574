package web

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// says has a client say something, after so many octets.
func (b *bed) says(client netip.AddrPort, kind datapath.WebEventKind, offset uint32, data string) {
	b.t.Helper()
	e := datapath.WebEvent{Kind: kind, Flow: flowOf(client), Begun: begun, Frame: frame(flowOf(client), offset, data), At: b.now}
	if err := b.hear(&e); err != nil {
		b.t.Fatal(err)
	}
}

// crowd is one of many clients, 256 of a network.
func crowd(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{100, byte(i >> 16), byte(i >> 8), byte(i)}), 4000)
}

// However many say half a name and no more, who has waited for a second gives way to others, and not before.
func TestCrowdGivesWay(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.most = 400
	for i := range b.most {
		b.says(crowd(i), datapath.WebFirst, 0, "GET")
	}
	b.now = b.now.Add(leastPatience - 1)
	b.says(visitor, datapath.WebFirst, 0, request)
	if b.counts.Full != 1 || len(b.all) != b.most {
		t.Fatalf("%d know, %+v", len(b.all), b.counts)
	}
	b.now = b.now.Add(1)
	b.hears(first(request), fmt.Sprintf("send %s %d 0", packets.RST, cookie+1), "forget", "answer 10.0.0.100:8080", fmt.Sprintf("replay %q x2", request))
	if len(b.all) != b.most || b.all[flowOf(crowd(0))] != nil || b.all[flowOf(crowd(1))] == nil {
		t.Error("it was not the oldest that gave way")
	}
	b.says(visitor, datapath.WebOpened, 0, "")
	b.now = b.now.Add(4 * time.Second)
	for range 2 {
		b.expires()
		b.now = b.now.Add(restTime)
	}
	if len(b.all)+len(b.source)+len(b.network)+b.octets+b.reading.Len()+b.connecting.Len()+b.ordering.Len()+b.resting.Len() != 0 {
		t.Errorf("left are %+v", b.places)
	}
}

// What is over is known for a while, but takes nobody's place.
func TestWhatIsOverGivesWay(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.most = 400
	for i := range 2 * b.most {
		b.says(netip.AddrPortFrom(visitor.Addr(), uint16(1+i)), datapath.WebFirst, 0, strange)
	}
	if len(b.all) != b.most || b.counts.Full != 0 || len(b.kernel.answers) != len(b.all) {
		t.Fatalf("%d are known, %d answers, %+v", len(b.all), len(b.kernel.answers), b.counts)
	}
}

// What a network has sent is bounded, in whichever pieces, and so is what of all of them is kept: nobody else is without room.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(b *bed, client netip.AddrPort){
		"long ones": func(b *bed, client netip.AddrPort) {
			for i := range uint32(20) {
				b.says(client, datapath.WebLater, 3+i*1400, strings.Repeat("x", 1400))
			}
		},
		"the last octet": func(b *bed, client netip.AddrPort) { b.says(client, datapath.WebLater, 16<<10-1, "x") },
		"beyond it": func(b *bed, client netip.AddrPort) {
			b.says(client, datapath.WebLater, 1<<20, strings.Repeat("x", 1400))
		},
		"again and again": func(b *bed, client netip.AddrPort) {
			for range 20 {
				b.says(client, datapath.WebFirst, 0, "GET")
			}
		},
	} {
		b := newBed(t)
		for i := range 400 {
			client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(i % 250)}), uint16(2000+i/250))
			b.says(client, datapath.WebFirst, 0, "GET")
			send(b, client)
		}
		held := 0
		for _, c := range b.all {
			for _, f := range c.frames {
				held += cap(f.octets)
			}
			if c.stream != nil {
				held += c.stream.Size()
			}
		}
		if most := mostOctetsOfNetwork + 64<<10; held > most || b.octets != b.network[networkOf(netip.MustParseAddr("203.0.113.1"))].octets {
			t.Errorf("%s: one network has %d octets, %d are counted", name, held, b.octets)
		}
		b.says(netip.MustParseAddrPort("192.0.2.1:5"), datapath.WebFirst, 0, request)
		if b.kernel.answers[flowOf(netip.MustParseAddrPort("192.0.2.1:5"))].Host != www {
			t.Errorf("%s: another finds no place", name)
		}
	}
}

// The first segment was lost, or overtaken: when it comes, what came before it is there.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.hears(later(20, request[20:]))
	b.hears(later(20, request[20:]))
	b.hears(first(request[:20]), "answer 10.0.0.100:8080", fmt.Sprintf("replay %q x2", request[:20]))
	b.hears(about(datapath.WebOpened, ""), fmt.Sprintf("replay %q x1", request[:20]), fmt.Sprintf("replay %q x1", request[20:]))
	b.waits(time.Second, "forget")
	b.hears(later(20, request[20:]))
	b.waits(connectTime)
	for i := range 2 * mostEarlyOfNetwork {
		b.says(netip.AddrPortFrom(visitor.Addr(), uint16(1+i)), datapath.WebLater, 20, "Host")
	}
	if len(b.early.of) != mostEarlyOfNetwork {
		t.Errorf("%d of a network are kept", len(b.early.of))
	}
	for i := range 2 * mostEarly {
		b.says(crowd(256*i), datapath.WebLater, 20, "Host")
	}
	if len(b.early.of) != mostEarly || len(b.all) != 0 {
		t.Errorf("%d are kept, %d wait", len(b.early.of), len(b.all))
	}
	b.waits(connectTime)
	if len(b.early.of)+len(b.early.network) != 0 {
		t.Errorf("left are %+v", b.early)
	}
}

// Of a client with too many connections at a time the next segment is as good as its first one: nobody is refused.
func TestTooManyOfASourceWait(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	connects := []string{"answer 10.0.0.100:8080", fmt.Sprintf("replay %q x2", request[:20])}
	b.hears(first(request[:20]))
	b.hears(later(20, request[20:]), connects...)
	for range 3 {
		b.hears(about(datapath.WebRefused, reasonRate), "forget")
		if b.waiting() != 0 {
			t.Fatal("it waits")
		}
		b.hears(first(request[:20]), connects...)
	}
	b.hears(about(datapath.WebOpened, ""), fmt.Sprintf("replay %q x1", request[:20]), fmt.Sprintf("replay %q x1", request[20:]))
	if c := b.counts; c.Refused != 0 || c.Opened != 1 || c.Full != 3 {
		t.Errorf("%+v", c)
	}
}

// A host that does not answer holds no more than its share, and others are called beside it.
func TestHostHasItsShare(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for i := range mostOfHost + 1 {
		b.says(crowd(i), datapath.WebFirst, 0, request)
	}
	last := b.kernel.answers[flowOf(crowd(mostOfHost))]
	if b.connecting.Len() != mostOfHost || b.host[www.Addr()] != mostOfHost || last.Reason != reasonRefused {
		t.Errorf("%d wait for the host, the next one is told %+v", b.connecting.Len(), last)
	}
	other := netip.MustParseAddrPort("10.0.0.101:8080")
	b.find = func(string, model.Tuple) (Target, bool) { return Target{To: other}, true }
	b.says(visitor, datapath.WebFirst, 0, request)
	if to := b.kernel.answers[flowOf(visitor)].Host; to != other {
		t.Errorf("another host is called at %s", to)
	}
	b.find = func(string, model.Tuple) (Target, bool) { return Target{To: www}, true }
	b.says(crowd(0), datapath.WebOpened, 0, "") // has answered once
	late := netip.AddrPortFrom(visitor.Addr(), 1)
	if b.says(late, datapath.WebFirst, 0, request); b.kernel.answers[flowOf(late)].Host != www {
		t.Errorf("a place that is free again is not given: %+v", b.kernel.answers[flowOf(late)])
	}
}

// However many are late at a time, what comes meanwhile is heard.
func TestManyAreLateAtATime(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for i := range 3 * mostExpired {
		b.says(crowd(256*i), datapath.WebFirst, 0, "GET")
	}
	b.now = b.now.Add(3 * time.Second)
	for left := 2 * mostExpired; left >= 0; left -= mostExpired {
		more, err := b.expire(b.now, b.now)
		if err != nil || !more || b.waiting() != left {
			t.Fatalf("%d wait of %d, more %t: %v", b.waiting(), left, more, err)
		}
	}
	if more, err := b.expire(b.now, b.now); more || err != nil || b.resting.Len() != 3*mostExpired {
		t.Errorf("more %t, %v, %d rest", more, err, b.resting.Len())
	}
}

// How long a name may take holds for those that wait for theirs, too.
func TestPatienceOfAReload(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.says(visitor, datapath.WebFirst, 0, "GET")
	b.now = b.now.Add(2 * time.Second)
	b.expires()
	if b.waiting() != 1 {
		t.Error("it is late before its time")
	}
	b.patience = func() int64 { return int64(2 * time.Second) }
	b.expires()
	if b.waiting() != 0 {
		t.Error("it waits")
	}
}

// What has opened gives way to others, too, where it has all places.
func TestOpenOnesGiveWay(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.most = 4
	for i := range b.most + 1 {
		b.says(crowd(256*i), datapath.WebFirst, 0, request)
		b.says(crowd(256*i), datapath.WebOpened, 0, "")
	}
	if b.counts.Full != 0 || b.counts.Opened != uint64(b.most)+1 {
		t.Errorf("%+v", b.counts)
	}
}

// deaf is a data plane that takes no answers.
type deaf struct{ recorder }

func (*deaf) AnswerWeb(model.Tuple, datapath.WebAnswer) error { return errors.New("no room") }

// A connection that the data plane cannot be told of is tried again with its client's next segment, and takes no place of its host.
func TestDataPlaneWithoutRoom(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.table.kernel = &deaf{}
	for range 2 * mostOfHost {
		e := first(request)
		e.At = b.now
		if err := b.hear(&e); err == nil {
			t.Fatal("it was told")
		}
	}
	b.table.kernel = b.kernel
	b.hears(first(request), "answer 10.0.0.100:8080", fmt.Sprintf("replay %q x2", request))
	if b.host[www.Addr()] != 1 || b.connecting.Len() != 1 || b.reading.Len() != 0 {
		t.Errorf("its host has %d, %d are connecting, %d are read", b.host[www.Addr()], b.connecting.Len(), b.reading.Len())
	}
}
