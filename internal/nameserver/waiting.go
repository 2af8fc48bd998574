package nameserver

import (
	"cmp"
	"container/heap"
	"container/list"
	"net/netip"
	"slices"
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
	// jostleAfter is how long a question may wait without making room for one of who has
	// as many, where there is none (unbound's jostle-timeout): most are answered by then.
	jostleAfter = 200 * time.Millisecond
)

// waiting holds the questions that wait for upstream. Who asks what nobody answers
// keeps no others from asking: one asker has a share, and where all is full, since
// a host may take its neighbours' addresses, who has most gives way to who has less.
type waiting struct {
	mu     sync.Mutex
	all    int
	askers map[netip.Addr]*share // none without questions, so never more than underWay
	most   shares
}

// wait is one question's.
type wait struct {
	share   *share
	since   model.Instant
	place   *list.Element // nil once it has left or given way
	gaveWay chan struct{} // closed then
}

// share is one asker's.
type share struct {
	asker     netip.Addr
	questions list.List // of *wait, the oldest first, never empty
	index     int       // in shares
}

func (s *share) oldest() *wait { return s.questions.Front().Value.(*wait) }

// shares is a heap: who has most questions comes first, and of those whose oldest
// has waited for longest.
type shares []*share

func (s shares) Len() int { return len(s) }
func (s shares) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(s[j].questions.Len(), s[i].questions.Len()), cmp.Compare(s[i].oldest().since, s[j].oldest().since)) < 0
}
func (s shares) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}
func (s *shares) Push(x any) {
	x.(*share).index = len(*s)
	*s = append(*s, x.(*share))
}
func (s *shares) Pop() any {
	last := len(*s) - 1
	x := (*s)[last]
	*s = slices.Delete(*s, last, last+1)
	return x
}

// admission is what becomes of a question that would wait.
type admission uint8

const (
	admitted admission = iota
	overShare
	overAll
)

// enter takes a question in, if its asker has fewer than limit and there is room
// for it, or another gives way; leave must follow then. Who would not have more
// than the asker gives way only after jostleAfter.
func (w *waiting) enter(asker netip.Addr, limit int, now model.Instant) (*wait, admission) {
	w.mu.Lock()
	defer w.mu.Unlock()
	has := 0
	if s := w.askers[asker]; s != nil {
		has = s.questions.Len()
	}
	if has >= limit {
		return nil, overShare
	}
	if w.all >= underWay {
		most := w.most[0]
		oldest := most.oldest()
		if most.questions.Len() <= has+1 && now.Sub(oldest.since) < jostleAfter {
			return nil, overAll
		}
		w.drop(oldest)
		close(oldest.gaveWay)
	}
	one := &wait{since: now, gaveWay: make(chan struct{})}
	w.add(asker, one)
	return one, admitted
}

func (w *waiting) leave(one *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(one)
}

func (w *waiting) add(asker netip.Addr, one *wait) {
	w.all++
	if s := w.askers[asker]; s != nil {
		one.share, one.place = s, s.questions.PushBack(one)
		heap.Fix(&w.most, s.index)
		return
	}
	if w.askers == nil {
		w.askers = map[netip.Addr]*share{}
	}
	s := &share{asker: asker}
	one.share, one.place = s, s.questions.PushBack(one)
	w.askers[asker] = s
	heap.Push(&w.most, s)
}

func (w *waiting) drop(one *wait) {
	if one.place == nil {
		return
	}
	w.all--
	s := one.share
	if s.questions.Len() == 1 {
		heap.Remove(&w.most, s.index)
		delete(w.askers, s.asker)
	} else {
		s.questions.Remove(one.place)
		heap.Fix(&w.most, s.index)
	}
	one.place = nil
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
