package web

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/web/hello"
)

// Bounds of what has overtaken its connection's first segment, and may be anybody's.
const (
	mostEarly          = 1024 // connections
	mostEarlyOfNetwork = 64   // of a /24
	mostEarlySegments  = 4    // of a connection
)

// early has segments of connections whose first one has not come: it was lost, or they have overtaken it. Their client sends
// no more than the first one again while it hears nothing (RFC 6298 section 5). Without them the name would be whole only when
// it has heard.
type early struct {
	of      map[model.Tuple]*earlySegments
	network map[netip.Prefix]int
}

type earlySegments struct {
	list  []segment
	until model.Instant
}

func newEarly() early {
	return early{of: map[model.Tuple]*earlySegments{}, network: map[netip.Prefix]int{}}
}

// keep keeps one, if there is room.
func (e *early) keep(flow model.Tuple, s segment, now model.Instant) {
	of, network := e.of[flow], networkOf(flow.Source.Addr())
	if of == nil {
		if len(e.of) >= mostEarly || e.network[network] >= mostEarlyOfNetwork {
			return
		}
		of = &earlySegments{until: now.Add(connectTime)}
		e.of[flow] = of
		e.network[network]++
	}
	octets := len(s.Frame)
	for _, other := range of.list {
		if octets += len(other.Frame); other.Sequence == s.Sequence {
			return // it comes again
		}
	}
	if len(of.list) < mostEarlySegments && octets <= hello.MaxBytes {
		of.list = append(of.list, s)
	}
}

// take hands over those of a connection.
func (e *early) take(flow model.Tuple) []segment {
	of := e.of[flow]
	if of == nil {
		return nil
	}
	e.drop(flow)
	return of.list
}

func (e *early) drop(flow model.Tuple) {
	delete(e.of, flow)
	take(e.network, networkOf(flow.Source.Addr()))
}

// expire forgets what has waited too long.
func (e *early) expire(now model.Instant) {
	for flow, of := range e.of {
		if !now.Before(of.until) {
			e.drop(flow)
		}
	}
}
