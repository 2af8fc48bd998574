package gateway

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
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

// servesInside reports whether the inside resolver answers an asker: a host that a private interface leads to, or the
// gateway itself.
func (g *Gateway) servesInside(a netip.Addr) bool {
	return g.isOwnAddress(a) || g.locality.isInside(a, datapath.Now(), g.ledTo)
}

// leadsInside reports whether nobody outside may lead a host to an address: one of the gateway's own, but those whose ports
// dnat or services open to everybody, or an IPv4 address that a private interface leads to. Names of hosts with public IPv6 addresses
// are served outside, too.
func (g *Gateway) leadsInside(a netip.Addr) bool {
	if g.isOwnAddress(a) {
		v := g.view.Load()
		return !v.static.opens(a) && !v.lendsPorts(a) && !slices.Contains(v.config.OneToOneAddresses(), a)
	}
	return a.Is4() && g.locality.isInside(a, datapath.Now(), g.ledTo)
}

func (g *Gateway) isOwnAddress(a netip.Addr) bool {
	own := g.own.Load()
	return own != nil && (*own)[a]
}

// ledTo asks the kernel whether a private interface leads to an address.
func (g *Gateway) ledTo(a netip.Addr) bool {
	routes, err := netlink.RouteGet(a.AsSlice())
	if err != nil || len(routes) == 0 {
		return false // there is no way to it
	}
	for _, i := range g.data.Interfaces() {
		if i.Ifindex == routes[0].LinkIndex {
			return i.Side == "private"
		}
	}
	return false
}
