package nameserver

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	detectorAskers = 4096                   // remembered; the one silent for longest makes room
	detectorOpen   = 16384                  // host questions not yet followed; the oldest makes room
	detectorProof  = 3                      // followed host questions in a row
	detectorSoon   = 100 * time.Millisecond // a resolver that minimises goes on at once
	detectorLate   = time.Second            // then nothing followed
	detectorMemory = time.Hour              // since the last evidence
)

// detector learns which askers minimise names (RFC 9156): those ask for the
// host above a service before they ask for the service, and a single such
// question looks like any other. One rule:
//
//   - A host question is followed when the same asker soon asks for a name
//     below that host. Three in a row prove that the asker minimises.
//   - A host question that nothing follows in time ends the streak, and the proof.
//     The alias counts as following: who got one and asked for the host itself
//     comes back with it. So an asker that cannot, for instance because it
//     asks from several addresses in turn, soon gets addresses again.
//
// Host questions are A questions for host names that have names below them.
// Only verified questions count, so forged ones can neither prove nor disprove.
// A question over UDP merely stops the clock for the one over TCP that comes
// two round trips after it.
//
// It is safe for concurrent use, and the clock is an argument.
type detector struct {
	mu     sync.Mutex
	askers *simplelru.LRU[netip.Addr, *askerRecord]
	open   *simplelru.LRU[hostQuestion, *laterQuestion] // in the order of laterQuestion.asked
}

type hostQuestion struct {
	asker netip.Addr
	host  model.Name
}

// askerRecord is what is known of one asker. It is proven when streak is
// detectorProof and until has not come.
type askerRecord struct {
	streak int           // host questions followed, up to detectorProof
	until  model.Instant // the proof holds
	open   int           // of its host questions
}

// laterQuestion is a host question that something may follow.
type laterQuestion struct {
	asked model.Instant
	soon  bool // an unverified question followed soon
	asker *askerRecord
}

// observation is a question as far as it matters here.
type observation struct {
	asker      netip.Addr
	zone, name model.Name
	alias      model.Name // the host that name is an alias of, or ""
	host       bool       // a host question
	verified   bool       // the asker's address is
}

func newDetector() (*detector, error) {
	m := &detector{}
	var err error
	if m.askers, err = simplelru.NewLRU[netip.Addr, *askerRecord](detectorAskers, nil); err != nil {
		return nil, fmt.Errorf("make a table of %d askers: %w", detectorAskers, err)
	}
	m.open, err = simplelru.NewLRU(detectorOpen, func(_ hostQuestion, f *laterQuestion) { f.asker.open-- })
	if err != nil {
		return nil, fmt.Errorf("make a table of %d host questions: %w", detectorOpen, err)
	}
	return m, nil
}

// observe learns from a question and reports whether its asker minimises.
func (m *detector) observe(now model.Instant, s observation) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.verified {
		m.expire(now)
	}
	asker, known := m.askers.Peek(s.asker)
	if known && asker.open > 0 {
		m.follow(now, s)
	}
	if !s.host || !s.verified {
		return known && asker.proven(now)
	}
	if !known {
		asker = &askerRecord{}
	}
	m.askers.Add(s.asker, asker)
	question := hostQuestion{s.asker, s.name}
	m.open.Remove(question) // asked again: the time runs from now
	m.open.Add(question, &laterQuestion{asked: now, asker: asker})
	asker.open++
	return asker.proven(now)
}

// expire ends the streaks of those whose host questions nothing followed.
func (m *detector) expire(now model.Instant) {
	for {
		question, f, ok := m.open.GetOldest()
		if !ok || now.Sub(f.asked) <= detectorLate {
			return
		}
		if !f.soon {
			f.asker.streak = 0
		}
		m.open.Remove(question)
	}
}

// follow looks for open questions for the alias's host and for all names
// above s.name in its zone.
func (m *detector) follow(now model.Instant, s observation) {
	if s.alias != "" {
		question := hostQuestion{s.asker, s.alias}
		if f, ok := m.open.Peek(question); ok && !s.verified {
			f.soon = true
		} else if ok {
			m.open.Remove(question)
		}
		return
	}
	for name := s.name; name != s.zone; {
		_, rest, ok := strings.Cut(string(name), ".")
		if name = model.Name(rest); !ok || name == s.zone {
			return
		}
		question := hostQuestion{s.asker, name}
		f, ok := m.open.Peek(question)
		if !ok {
			continue
		}
		soon := now.Sub(f.asked) <= detectorSoon
		if !s.verified {
			f.soon = f.soon || soon
			continue
		}
		if soon || f.soon {
			f.asker.followed(now)
		}
		m.open.Remove(question)
	}
}

func (a *askerRecord) followed(now model.Instant) {
	if a.streak == detectorProof && !a.proven(now) {
		a.streak = 0 // forgotten
	}
	if a.streak = min(a.streak+1, detectorProof); a.streak == detectorProof {
		a.until = now.Add(detectorMemory)
	}
}

func (a *askerRecord) proven(now model.Instant) bool {
	return a.streak == detectorProof && now.Before(a.until)
}
