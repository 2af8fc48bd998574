package web

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// A client that sends its first data again, of which the rest is missing, hears that they have come, and no more may be under way
// for that.
func TestAcknowledgesWhatComesAgain(t *testing.T) {
	t.Parallel()
	for number, window := range map[uint32]uint16{cookie: 32, 1<<24 | 15<<25: 16364, 1<<24 | 7<<25: 32} {
		b := newBed(t)
		k := &fakeKernel{}
		b.table.kernel = k
		e := first(request[:20])
		e.Frame = frame(e.Flow, 0, request[:20], func(p *packets.Packet) {
			p.TCP.Acknowledge = number + 1
			p.TCP.Options = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{1, 1, 8, 10}, 11), 22)
		})
		for range 2 {
			again := e
			again.Frame = slices.Clone(e.Frame)
			if err := b.hear(&again); err != nil {
				t.Fatal(err)
			}
		}
		if len(k.sent) != 1 {
			t.Fatalf("%d are sent", len(k.sent))
		}
		p, err := packets.Parse(k.sent[0])
		want := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{1, 1, 8, 10}, 22), 11)
		if err != nil || p.TCP.Flags != packets.ACK || p.TCP.Window != window || p.TCP.Sequence != number+1 || p.TCP.Acknowledge != begun+21 || !slices.Equal(p.TCP.Options, want) {
			t.Errorf("%v, %+v", err, p.TCP)
		}
	}
}

var (
	head  = request[:20]
	rest  = later(20, request[20:])
	once  = fmt.Sprintf("replay %q x1", head)
	both  = fmt.Sprintf("replay %q x1", request[20:])
	calls = []string{"answer 10.0.0.100:8080", fmt.Sprintf("replay %q x2", head)}
)

// acknowledges is a bed in which a client's first segment has come twice, and then what is behind it.
func acknowledges(t *testing.T) *bed {
	b := newBed(t)
	b.hears(first(head))
	b.hears(first(head), fmt.Sprintf("send ACK %d %d", cookie+1, begun+1+len(head)))
	b.hears(rest, calls...)
	return b
}

func (b *bed) empty() {
	b.t.Helper()
	if len(b.all)+len(b.source)+len(b.network)+len(b.host)+b.octets+b.resting.Len()+b.reading.Len() != 0 {
		b.t.Errorf("left are %+v", b.table)
	}
}

// What was acknowledged does not come again: it goes to its host a few times, while that is silent and when it has answered.
func TestAcknowledgedIsRepeated(t *testing.T) {
	t.Parallel()
	b := acknowledges(t)
	for range mostRepeats {
		b.hears(rest, once)
	}
	b.hears(rest)
	behind := []string{once}
	for range mostRepeats + 2 {
		behind = append(behind, both)
	}
	b.hears(about(datapath.WebOpened, ""), behind...)
	b.waits(orderTime, "forget")
	b.waits(restTime-orderTime, once)
	for range mostRepeats - 1 {
		b.waits(restTime, once)
	}
	b.waits(restTime)
	b.empty()
}

// There are too many at a time: it is kept, and tried again with what comes next. That its host has answered another SYN of it
// meanwhile opens it.
func TestAcknowledgedIsPostponed(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"it comes again": true, "its host has answered": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := acknowledges(t)
			b.now = b.now.Add(2 * time.Second)
			b.hears(about(datapath.WebRefused, reasonRate), "forget")
			if b.waiting() != 1 || b.octets == 0 || b.reading.Len() != 1 {
				t.Errorf("waiting are %d, of %d octets", b.waiting(), b.octets)
			}
			b.waits(2 * time.Second) // its time begins anew
			behind := []string{once, both}
			if again {
				b.hears(rest, calls...)
				behind = append(behind, both)
			}
			b.hears(about(datapath.WebOpened, ""), behind...)
			if b.waiting() != 0 || b.counts.Opened != 1 || b.all[flowOf(visitor)] == nil {
				t.Errorf("%+v", b.counts)
			}
		})
	}
}

// A reload leads its name elsewhere, or the daemon stops: it cannot begin anew, and is told.
func TestAcknowledgedIsTold(t *testing.T) {
	t.Parallel()
	told := fmt.Sprintf("send RST %d 0", cookie+1)
	for name, does := range map[string]func(*bed){
		"its host is asked":  func(*bed) {},
		"it is postponed":    func(b *bed) { b.hears(about(datapath.WebRefused, reasonRate), "forget") },
		"it has just opened": func(b *bed) { b.hears(about(datapath.WebOpened, ""), once, both) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := acknowledges(t)
			does(b)
			waits := b.waiting() > 0
			if err := b.dismiss(); err != nil {
				t.Fatal(err)
			}
			if waits {
				b.done(told)
			}
			if err := b.reconsider(nowhere, b.now); err != nil {
				t.Fatal(err)
			}
			if b.done(told, "forget"); len(b.kernel.answers) != 0 {
				t.Errorf("left are %v", b.kernel.answers)
			}
			b.empty()
		})
	}
}

// Its client goes while its host is asked: that is told it, and hears no more of what its client said.
func TestAcknowledgedGoes(t *testing.T) {
	t.Parallel()
	b := acknowledges(t)
	e := datapath.WebEvent{Kind: datapath.WebLater, Flow: flowOf(visitor), Frame: frame(flowOf(visitor), uint32(len(request)), "", func(p *packets.Packet) { p.TCP.Flags = packets.RST | packets.ACK })}
	b.hears(e)
	b.hears(about(datapath.WebOpened, ""), once, both, `replay "" x1`)
	b.waits(orderTime, "forget")
	b.waits(restTime)
	b.empty()
}
