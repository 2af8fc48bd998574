package machine

import (
	"net/netip"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	// localityLasts is how long it is remembered where an address is, should no notice say that routes have changed.
	localityLasts = model.Instant(10 * time.Second)
	// localityMost addresses are remembered; then all are looked up again.
	localityMost = 8192
)

// locality says which addresses a private interface leads to. The name servers ask it for each question.
type locality struct {
	mutex sync.Mutex
	known map[netip.Addr]lookedUp
}

type lookedUp struct {
	inside bool
	until  model.Instant
}

// forget is for when routes have changed.
func (l *locality) forget() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	clear(l.known)
}

// isInside looks an address up.
func (l *locality) isInside(a netip.Addr, now model.Instant, look func(netip.Addr) bool) bool {
	l.mutex.Lock()
	w, ok := l.known[a]
	l.mutex.Unlock()
	if ok && now.Before(w.until) {
		return w.inside
	}
	w = lookedUp{look(a), now.Add(time.Duration(localityLasts))}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.known == nil || len(l.known) >= localityMost {
		l.known = map[netip.Addr]lookedUp{}
	}
	l.known[a] = w
	return w.inside
}

// IsInside reports whether an address is one that look finds to be inside; it is remembered for a while.
func (m *Machine) IsInside(a netip.Addr, now model.Instant, look func(netip.Addr) bool) bool {
	return m.locality.isInside(a, now, look)
}

// RoutesChanged has IsInside look again.
func (m *Machine) RoutesChanged() { m.locality.forget() }
