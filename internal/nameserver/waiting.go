package nameserver

import (
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
)

// waiting counts the questions that wait for upstream, in all and for each
// asker, so that who asks what nobody answers keeps no others from asking.
type waiting struct {
	mu     sync.Mutex
	all    int
	askers map[netip.Addr]int // none with 0, so never more than underWay
}

// admission is what becomes of a question that would wait.
type admission uint8

const (
	admitted admission = iota
	overShare
	overAll
)

// enter takes a question in, if there is room for it and its asker has fewer
// than limit; leave must follow then.
func (w *waiting) enter(asker netip.Addr, limit int) admission {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.askers[asker] >= limit:
		return overShare
	case w.all >= underWay:
		return overAll
	}
	if w.askers == nil {
		w.askers = map[netip.Addr]int{}
	}
	w.all++
	w.askers[asker]++
	return admitted
}

func (w *waiting) leave(asker netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all--
	if w.askers[asker]--; w.askers[asker] == 0 {
		delete(w.askers, asker)
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

// overdo is the answer to a question that may not wait for upstream. An asker
// beyond its share hears nothing over UDP, as with unbound's wait-limit: it asks
// again, and its flood costs no replies.
func (p *Private) overdo(a admission, settings *privateSettings, q *query, asker netip.Addr, transport Transport, buf []byte) []byte {
	why := reasonOverloaded
	if a == overShare {
		p.counters.waitLimited.Add(1)
		if p.overdone.due(p.now()) {
			p.logger.Warn("a host inside has as many questions waiting for upstream as one may, more are dropped: see dns.wait_limit",
				"host", asker, "limit", settings.waitLimit)
		}
		if transport == UDP {
			return nil
		}
		why = reasonWaitLimit
	} else {
		p.counters.overloaded.Add(1)
	}
	return q.render(buf, &reply{rcode: dns.RcodeServerFailure, recursion: true, reason: why}, limit(q, transport))
}
