package ability

import (
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

const (
	askEvery   = 10 * time.Minute // more or less by askJitter
	askJitter  = 0.1
	retryEvery = time.Minute // of one that does not answer
	mostAsking = 4           // at a time

	// heardFor is how long a host is not believed to be able to do more than it did for a client: it may answer the
	// gateway's own connections otherwise, for whom it has another route.
	heardFor = 24 * time.Hour
	// leastMSS is promised whatever a host says (RFC 9293 section 3.7.1): with less it serves nobody, and holds no other back.
	leastMSS = 536
	// mostNames bounds the names of an endpoint's certificates.
	mostNames = 512
)

// Answer is what came of asking an endpoint.
type Answer struct {
	Err   error // it did not answer, in one line
	Can   Can
	TLS   bool         // it has certificates
	Names []model.Name // of them, without doubles: at most mostNames
	Left  int          // names that were left out
}

// record is what is known of an endpoint.
type record struct {
	Endpoint
	due    time.Time
	asking bool
	asked  time.Time // zero: never
	err    error     // why it did not answer then
	known  bool      // it has answered once
	can    Can
	names  []model.Name
	left   int

	heard datapath.WebPromise      // the least that it could do for a client
	until time.Time                // heard holds
	via   map[netip.Addr]time.Time // by which web addresses that was, and until when it matters there
}

// promise is what can be promised for it.
func (r *record) promise(now time.Time) datapath.WebPromise {
	p := datapath.LeastWebPromise
	if r.known {
		p = r.can.WebPromise
	}
	if now.Before(r.until) {
		p = least(p, r.heard)
	}
	return p
}

// known is what is known of the hosts of a configuration. The zero value knows none.
type known struct {
	hosts     []Host
	addresses []netip.Addr
	of        map[netip.AddrPort]*record
	endpoints map[model.Name][]netip.AddrPort
	order     []netip.AddrPort // of the configuration
	at        map[model.Name]netip.Addr
	placed    map[model.Name]netip.Addr // where an earlier daemon had them
	asking    int
	random    func() float64 // 0 to 1
}

// follow takes the hosts and web addresses of a configuration: what was known of those that stay it goes on knowing, and all
// are to be asked now.
func (k *known) follow(hosts []Host, addresses []netip.Addr, now time.Time) {
	before := k.of
	k.hosts, k.addresses, k.order = hosts, addresses, nil
	k.of, k.endpoints = map[netip.AddrPort]*record{}, map[model.Name][]netip.AddrPort{}
	for i := range hosts {
		for _, e := range hosts[i].endpoints() {
			r := before[e.To]
			if r == nil {
				r = &record{via: map[netip.Addr]time.Time{}}
			}
			r.Endpoint, r.due = e, now
			k.of[e.To] = r
			k.endpoints[hosts[i].Name] = append(k.endpoints[hosts[i].Name], e.To)
			k.order = append(k.order, e.To)
		}
	}
}

// next are the endpoints to ask now, who are then being asked, and when to look again; zero: when an answer comes. Who has
// waited longest comes first: hosts that take all their time cannot keep others from being asked.
func (k *known) next(now time.Time) (ask []Endpoint, again time.Time) {
	order := slices.Clone(k.order)
	slices.SortStableFunc(order, func(a, b netip.AddrPort) int { return k.of[a].due.Compare(k.of[b].due) })
	for _, to := range order {
		r := k.of[to]
		switch {
		case r.asking:
		case k.asking == mostAsking:
			return ask, time.Time{}
		case !now.Before(r.due):
			r.asking = true
			k.asking++
			ask = append(ask, r.Endpoint)
		case again.IsZero() || r.due.Before(again):
			again = r.due
		}
	}
	return ask, again
}

// take takes an answer in, and reports whether more is known than before. One that does not answer keeps what was known of it.
func (k *known) take(e Endpoint, a Answer, now time.Time) (changed bool) {
	k.asking--
	r := k.of[e.To]
	if r == nil {
		return false // another configuration has it no more
	}
	a.Can.MSS = max(a.Can.MSS, leastMSS)
	changed = r.asked.IsZero() || a.Err == nil && (!r.known || r.can != a.Can) || a.TLS && !slices.Equal(r.names, a.Names)
	r.asking, r.asked, r.err = false, now, a.Err
	every := askEvery
	if a.Err != nil {
		every = retryEvery
	} else {
		r.known, r.can = true, a.Can
	}
	if a.TLS {
		r.names, r.left = a.Names, a.Left
	}
	if e.TLS == r.TLS && slices.Equal(e.Names, r.Names) { // else a reload wants to know more, now
		r.due = now.Add(time.Duration(float64(every) * (1 + askJitter*(2*k.random()-1))))
	}
	return changed
}

// hear takes in that an endpoint of a host could do no more for a client of a web address. It reports whether less is to be
// promised for that.
func (k *known) hear(w weakness, now time.Time) (changed bool) {
	r := k.of[w.to]
	if r == nil || !slices.Contains(k.endpoints[w.host], w.to) {
		return false // of another configuration
	}
	before, known := r.promise(now), now.Before(r.via[w.via])
	can := w.can
	can.MSS = max(can.MSS, leastMSS)
	if now.Before(r.until) {
		can = least(can, r.heard)
	}
	r.heard, r.until = can, now.Add(heardFor)
	r.via[w.via] = r.until
	return !known || r.promise(now) != before
}

// isHeard reports whether a host is not believed for what it did for clients.
func (k *known) isHeard(host model.Name, now time.Time) bool {
	return slices.ContainsFunc(k.endpoints[host], func(to netip.AddrPort) bool { return now.Before(k.of[to].until) })
}
