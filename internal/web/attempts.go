package web

import (
	"errors"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/ipv4"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/web/hello"
)

// Bounds of attempts that are known. Their senders have proved nothing: who is beyond them is not heard, and comes by TCP.
// Those whose names were read stay for a second, so that the first is how many a second are led to their hosts, too.
const (
	mostAttempts        = 1024
	mostNetworkAttempts = 4   // of a /24, whose names are not read yet
	mostTurns           = 16  // connections by one port, one behind the other, that are led anywhere in a second
	mostTold            = 100 // refusals a second that the data plane hears of, to count and sample them
)

// attempts has the datagrams of QUIC that are no sessions yet. Like a table it does no I/O but what kernel does for it, and
// reads no clock.
type attempts struct {
	kernel  kernel
	find    func(name string, flow model.Tuple) (Target, bool)
	all     map[model.Tuple]*attempt
	network map[netip.Prefix]int
	turns   int // attempts that were known a moment ago, and gave way to another by their port
	counts  *Counts
	times   *histogram
	told    int // since toldAt
	toldAt  model.Instant
}

// newAttempts counts with t, and asks whom it asks.
func newAttempts(t *table) *attempts {
	return &attempts{
		kernel: t.kernel, find: t.find, all: map[model.Tuple]*attempt{}, network: map[netip.Prefix]int{},
		counts: &t.counts, times: &t.times,
	}
}

// hear takes an event of a datagram in.
func (t *attempts) hear(e *datapath.WebEvent) error {
	list, err := parseDatagrams(e.Frame, e.Each)
	if err != nil {
		return nil // damaged on its way
	}
	var errs []error
	for _, d := range list {
		errs = append(errs, t.datagram(e, d))
	}
	return errors.Join(errs...)
}

func (t *attempts) datagram(e *datapath.WebEvent, d ipv4.Packet) error {
	a, begun := t.all[e.Flow], begunOf(d.Payload)
	if a == nil || a.begun != begun {
		if a != nil && a.phase == phaseReading {
			return nil // its client sends it again
		}
		fresh := &attempt{
			flow: e.Flow, begun: begun, ifindex: e.Interface, initials: hello.NewInitials(), began: e.At, until: e.At.Add(attemptTime),
		}
		if !t.enter(fresh, a) {
			t.counts.Full++
			return nil
		}
		a = fresh
	}
	switch a.phase {
	case phaseOpen:
		return t.kernel.Replay(a.ifindex, d.Frame, 1)
	case phaseOver:
		return nil
	}
	name, err := a.add(d)
	if errors.Is(err, hello.ErrShort) {
		return nil
	}
	return t.read(a, e, name, err)
}

// enter makes an attempt known, in the place of one before it by the same port, if there is one. False where there is no room.
func (t *attempts) enter(a, before *attempt) bool {
	network := networkOf(a.flow.Source.Addr())
	if len(t.all)+t.turns >= mostAttempts || t.network[network] >= mostNetworkAttempts {
		return false
	}
	if before != nil { // it takes a place all the same, as long as this one
		if a.turn = before.turn + 1; a.turn == mostTurns {
			return false
		}
		t.turns++
	}
	t.all[a.flow] = a
	t.network[network]++
	return true
}

// leave forgets an attempt, and what was answered of it, or of the one before it that is still needed until then.
func (t *attempts) leave(a *attempt) error {
	delete(t.all, a.flow)
	t.turns -= a.turn
	if a.phase == phaseReading && a.turn == 0 {
		return nil
	}
	return t.kernel.ForgetWeb(a.flow)
}

// read leads an attempt to the host of its name, or ends it.
func (t *attempts) read(a *attempt, e *datapath.WebEvent, name string, err error) error {
	take(t.network, networkOf(a.flow.Source.Addr()))
	if e.Kind == datapath.WebAnew && errors.Is(err, hello.ErrMalformed) { // by keys that are not of this ID
		return a.goOn(t.kernel, e.At)
	}
	t.counts.Read++
	target, known := Target{}, false
	if err == nil {
		target, known = t.find(name, a.flow)
	}
	if known {
		t.counts.Opened++
		t.times.add(e.At.Sub(a.began))
		return a.open(t.kernel, e.At, target)
	}
	t.counts.Refused++
	reason := reasonUnknown
	switch {
	case err == nil || errors.Is(err, hello.ErrNoName):
	case errors.Is(err, hello.ErrVersion):
		reason = reasonVersion
	default:
		reason = ""
	}
	if reason != "" && t.mayTell(e.At) {
		return a.end(t.kernel, e.At, reason)
	}
	if a.turn > 0 { // it keeps the place, and the answer, of the one before it
		a.phase, a.until, a.frames = phaseOver, e.At.Add(restTime), nil
		return nil
	}
	// Anybody can send such, at no cost: no more is done for it, and it takes no place.
	return t.leave(a)
}

// mayTell counts a refusal more, and says whether the data plane may hear of it.
func (t *attempts) mayTell(now model.Instant) bool {
	if now.Sub(t.toldAt) >= time.Second {
		t.told, t.toldAt = 0, now
	}
	t.told++
	return t.told <= mostTold
}

// waiting is how many have not said their names.
func (t *attempts) waiting() (n int) {
	for _, of := range t.network {
		n += of
	}
	return n
}

// expire forgets what has waited too long, and what is over.
func (t *attempts) expire(now model.Instant) (err error) {
	for _, a := range t.all {
		if now.Before(a.until) {
			continue
		}
		err = errors.Join(err, t.leave(a))
		if a.phase == phaseReading {
			take(t.network, networkOf(a.flow.Source.Addr()))
			t.counts.Refused++
		}
	}
	return err
}
