package ability

import (
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/registry"
)

const (
	askEvery   = 10 * time.Minute // more or less by askJitter
	askJitter  = 0.1
	retryEvery = time.Minute // of one that does not answer, but for a guest that never has
	mostAsking = 4           // at a time, and as many guests beside them

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

	guest *registry.Host // whose it is
	other bool           // that is being asked: whoever was there before

	heard datapath.WebPromise      // the least that it could do for a client
	until time.Time                // heard holds
	via   map[netip.Addr]time.Time // by which web addresses that was, and until when it matters there
}

// counts reports whether it matters for what is promised. One of the configuration does before it has answered. Of those that
// register themselves many never will: such a host is found out when a client wants it.
func (r *record) counts(now time.Time) bool {
	return r.guest == nil || r.known || now.Before(r.until)
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
	hosts     []Host // those of the configuration come first
	ours      int    // how many these are
	addresses []netip.Addr
	of        map[netip.AddrPort]*record
	endpoints map[model.Name][]netip.AddrPort
	order     [2][]*record // of each kind
	at        map[model.Name]netip.Addr
	placed    map[model.Name]netip.Addr // where an earlier daemon had them
	asking    int                       // of the configuration
	guests    map[netip.AddrPort]bool   // that are being asked
	random    func() float64            // 0 to 1
}

func newKnown(random func() float64) known {
	return known{random: random, guests: map[netip.AddrPort]bool{}}
}

// follow takes the hosts and web addresses of a configuration: what was known of those that stay it goes on knowing, and all
// are to be asked now. Guests stay.
func (k *known) follow(hosts []Host, addresses []netip.Addr, now time.Time) {
	guests := k.hosts[k.ours:]
	k.addresses, k.ours = addresses, len(hosts)
	k.has(slices.Concat(hosts, guests))
	for _, order := range k.order {
		for _, r := range order {
			r.due = now
		}
	}
}

// visit takes the hosts that come and go by themselves, as they are now.
func (k *known) visit(guests []Host) {
	k.has(slices.Concat(k.hosts[:k.ours], guests))
}

// has takes all hosts. Who is new is to be asked first.
func (k *known) has(hosts []Host) {
	before := k.of
	k.hosts, k.order = hosts, [2][]*record{}
	k.of, k.endpoints = make(map[netip.AddrPort]*record, len(before)), make(map[model.Name][]netip.AddrPort, len(hosts))
	for i := range hosts {
		h := &hosts[i]
		for _, e := range h.endpoints() {
			r := before[e.To]
			if r == nil || r.guest != h.Guest {
				busy := k.guests[e.To] || r != nil && r.asking
				r = &record{guest: h.Guest, asking: busy, other: busy}
			}
			r.Endpoint = e
			k.of[e.To] = r
			k.endpoints[h.Name] = append(k.endpoints[h.Name], e.To)
			kind := ours
			if h.Guest != nil {
				kind = guest
			}
			k.order[kind] = append(k.order[kind], r)
		}
	}
}

// next are the endpoints to ask now, who are then being asked, and when to look again; zero: when an answer comes. Who has
// waited longest comes first: hosts that take all their time cannot keep others from being asked, nor guests those of the
// configuration.
func (k *known) next(now time.Time) (ask []Endpoint, again time.Time) {
	for kind, order := range k.order {
		for k.mayAsk(kind) {
			r := longest(order)
			if r == nil {
				break
			}
			if now.Before(r.due) {
				if again.IsZero() || r.due.Before(again) {
					again = r.due
				}
				break
			}
			r.asking = true
			if kind == guest {
				k.guests[r.To] = true
			} else {
				k.asking++
			}
			ask = append(ask, r.Endpoint)
		}
	}
	return ask, again
}

// Kinds of endpoints, by which they are in order.
const (
	ours = iota // of the configuration
	guest
)

// mayAsk reports whether one more of a kind may be asked.
func (k *known) mayAsk(kind int) bool {
	if kind == guest {
		return len(k.guests) < mostAsking
	}
	return k.asking < mostAsking
}

// longest is who has waited longest of those that are not being asked, the first of several.
func longest(order []*record) (found *record) {
	for _, r := range order {
		if !r.asking && (found == nil || r.due.Before(found.due)) {
			found = r
		}
	}
	return found
}

// take takes an answer in, and reports whether more is known than before. One that does not answer keeps what was known of it.
func (k *known) take(e Endpoint, a Answer, now time.Time) (changed bool) {
	if k.guests[e.To] {
		delete(k.guests, e.To)
	} else {
		k.asking--
	}
	r := k.of[e.To]
	if r == nil {
		return false // it is there no more
	}
	if r.other {
		r.other, r.asking = false, false
		return false
	}
	a.Can.MSS = max(a.Can.MSS, leastMSS)
	changed = r.asked.IsZero() || a.Err == nil && (!r.known || r.can != a.Can) || a.TLS && !slices.Equal(r.names, a.Names)
	r.asking, r.asked, r.err = false, now, a.Err
	every := askEvery
	if a.Err == nil {
		r.known, r.can = true, a.Can
	} else if r.guest == nil || r.known {
		every = retryEvery
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
	if r.via == nil {
		r.via = map[netip.Addr]time.Time{}
	}
	r.via[w.via] = r.until
	return !known || r.promise(now) != before
}

// isHeard reports whether a host is not believed for what it did for clients.
func (k *known) isHeard(host model.Name, now time.Time) bool {
	return slices.ContainsFunc(k.endpoints[host], func(to netip.AddrPort) bool { return now.Before(k.of[to].until) })
}
