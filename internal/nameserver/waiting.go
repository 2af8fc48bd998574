package nameserver

import (
	"container/list"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	// underWay bounds the questions waiting for upstream at a time.
	underWay = 4096
	// defaultWaitLimit is how many of them one asker may have.
	defaultWaitLimit = 128
	// jostleAfter is how long a question may wait without making room for a new one
	// where there is none (unbound's jostle-timeout): most are answered by then.
	jostleAfter = 200 * time.Millisecond
)

// waiting holds the questions that wait for upstream. Who asks what nobody answers
// keeps no others from asking: one asker has a share, and where all is full, since
// a host may take its neighbours' addresses, what has waited for longest gives way.
type waiting struct {
	mu     sync.Mutex
	all    list.List          // of *wait, the oldest first
	askers map[netip.Addr]int // none with 0, so never more than underWay
}

// wait is one question's.
type wait struct {
	asker   netip.Addr
	since   model.Instant
	place   *list.Element // nil once it has left or given way
	gaveWay chan struct{} // closed then
}

// admission is what becomes of a question that would wait.
type admission uint8

const (
	admitted admission = iota
	overShare
	overAll
)

// enter takes a question in, if its asker has fewer than limit and there is room
// for it, or another gives way; leave must follow then.
func (w *waiting) enter(asker netip.Addr, limit int, now model.Instant) (*wait, admission) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.askers[asker] >= limit {
		return nil, overShare
	}
	if w.all.Len() >= underWay {
		oldest := w.all.Front().Value.(*wait)
		if now.Sub(oldest.since) < jostleAfter {
			return nil, overAll
		}
		w.drop(oldest)
		close(oldest.gaveWay)
	}
	if w.askers == nil {
		w.askers = map[netip.Addr]int{}
	}
	one := &wait{asker: asker, since: now, gaveWay: make(chan struct{})}
	one.place = w.all.PushBack(one)
	w.askers[asker]++
	return one, admitted
}

func (w *waiting) leave(one *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(one)
}

func (w *waiting) drop(one *wait) {
	if one.place == nil {
		return
	}
	w.all.Remove(one.place)
	one.place = nil
	if w.askers[one.asker]--; w.askers[one.asker] == 0 {
		delete(w.askers, one.asker)
	}
}

func (w *wait) hasGivenWay() bool {
	select {
	case <-w.gaveWay:
		return true
	default:
		return false
	}
}

// seldomEvery is how often at most the log tells of what an asker can cause.
const seldomEvery = model.Instant(10 * time.Second)

// seldom keeps who causes a line from filling the log.
type seldom struct{ next atomic.Int64 }

// due reports whether a line may be written now, and that it is.
func (s *seldom) due(now model.Instant) bool {
	next := s.next.Load()
	return int64(now) >= next && s.next.CompareAndSwap(next, int64(now+seldomEvery))
}

// overdo is the answer to a question that may not wait for upstream, or not any
// longer. Over UDP that is none, as with unbound's wait-limit and jostle-timeout:
// who asked asks again, and a flood costs no replies.
func (p *Private) overdo(a admission, settings *privateSettings, q *query, asker netip.Addr, transport Transport, buf []byte) []byte {
	why := reasonOverloaded
	if a == overShare {
		why = reasonWaitLimit
		p.counters.waitLimited.Add(1)
		if p.tell != nil {
			p.tell(asker)
		}
		if p.overdone.due(p.now()) {
			p.logger.Warn("host over wait limit", "hint", "more are dropped: see dns.wait_limit",
				"host", asker, "limit", settings.waitLimit)
		}
	} else {
		p.counters.overloaded.Add(1)
	}
	if transport == UDP {
		return nil
	}
	return q.render(buf, &reply{rcode: dns.RcodeServerFailure, recursion: true, reason: why}, limit(q, transport))
}
