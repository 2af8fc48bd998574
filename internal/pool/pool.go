package pool

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// What an offer can fail with. Callers compare with errors.Is.
var (
	// ErrExhausted: no address can take the request now. Wait for an event, or
	// add addresses.
	ErrExhausted = errors.New("pool exhausted")
	// ErrHalfOpen and ErrHalfOpenHost: the quota of standing offers is used up.
	ErrHalfOpen     = errors.New("half-open quota reached")
	ErrHalfOpenHost = errors.New("half-open quota of the host reached")
	// ErrFull: Options.Capacity reservations are in the pool.
	ErrFull = errors.New("reservation table full")
	// ErrRequest: the request names no host or has an impossible port.
	ErrRequest = errors.New("impossible request")
)

// Pool is the circular pool. The zero value is of no use: call New.
type Pool struct {
	options    Options
	places     *places
	entries    []entry
	vacant     []int32 // entries that hold nothing, and some that adoption took
	generation uint32
	asked      map[askedKey]int32
	resting    map[restKey]int32
	halfOpen   map[netip.Addr]int
	due        timers // expiries of offers, ends of holds
	quarantine timers
	found      []timer
	idle       []uint64 // reservations that became idle since the last Press
	cursor     int32
	dice       dice
	counts     Statistics
}

// entry is a place in the table of reservations, and its links.
type entry struct {
	Reservation
	live       bool
	used       bool // some claim was used
	idle       bool // every session by it has ended
	queries    [MaxClaims]uint64
	lastClaim  model.Instant
	place      int32
	next, prev int32 // entries on the same place
	// nextRest and prevRest make a ring of the quarantines with one restKey.
	nextRest, prevRest int32
}

// askedKey finds the offer that a repeated question gets again.
type askedKey struct {
	name      model.Name
	requester netip.Addr
	source    netip.Prefix
}

// New makes an empty pool.
func New(o Options) (*Pool, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Capacity == 0 {
		o.Capacity = DefaultCapacity
	}
	// A late report that names a reservation of an earlier process must not
	// meet one of ours, so generations begin at random.
	var start [4]byte
	_, _ = rand.Read(start[:]) // never fails
	return &Pool{
		options:    o,
		places:     newPlaces(o.Addresses),
		generation: binary.LittleEndian.Uint32(start[:]),
		asked:      map[askedKey]int32{},
		resting:    map[restKey]int32{},
		halfOpen:   map[netip.Addr]int{},
		dice:       newDice(),
	}, nil
}

// Offer lends an address. With fresh the reservation is new: install it in the
// data plane, then answer; Cancel it when the install fails (I6). Without fresh
// it is a standing offer's answer again, expiry unchanged: raise the data
// plane's claims to Granted, then answer; when the data plane has no such offer
// any more, report Claimed or Expired and call Offer again.
func (p *Pool) Offer(now model.Instant, r Request) (res Reservation, fresh bool, err error) {
	if !r.Host.IsValid() {
		return Reservation{}, false, fmt.Errorf("offer for %s: %w: it has no host", r.Name, ErrRequest)
	}
	if res, ok := p.Repeat(now, r); ok {
		return res, false, nil
	}
	p.Advance(now)
	if err := p.admit(&r); err != nil {
		return Reservation{}, false, fmt.Errorf("offer for %s: %w", r.Name, err)
	}
	i := p.find(&r)
	if i < 0 {
		p.counts.Exhausted++
		return Reservation{}, false, fmt.Errorf("offer for %s: %w", r.Name, ErrExhausted)
	}
	e := p.vacancy()
	p.generation++
	if p.generation == 0 {
		p.generation = 1
	}
	p.entries[e].Reservation = Reservation{
		ID: uint64(p.generation)<<32 | uint64(uint32(e)), Generation: p.generation, // e >= 0
		Address: p.places.table[i].address, Protocol: r.Protocol, Port: r.Port, Source: r.Source,
		Host: r.Host, HostPort: r.HostPort, Name: r.Name, Requester: r.Requester,
		Created: now, Expires: now.Add(p.options.Offer), Granted: 1, Claims: 1,
		Again: p.options.Again, Verified: r.Verified, State: Offered,
	}
	if r.Again != nil {
		p.entries[e].Again = max(0, *r.Again)
	}
	p.entries[e].queries[0] = r.Query
	p.entries[e].idle = false
	p.attach(e, i)
	p.cursor = i + 1
	p.counts.Offers++
	return p.entries[e].Reservation, true, nil
}

// Repeat is the first step of Offer alone: the standing offer that the same
// requester got for the same name, with one more claim if the query is a new
// one and fewer than MaxClaims were given. Limits need not be asked for it.
func (p *Pool) Repeat(now model.Instant, r Request) (Reservation, bool) {
	i, ok := p.asked[askedKey{r.Name, r.Requester, r.Source}]
	if !ok {
		return Reservation{}, false
	}
	e := &p.entries[i]
	// The registry may have changed the name's meaning since.
	same := e.Host == r.Host && e.HostPort == r.HostPort && e.Protocol == r.Protocol &&
		e.Port == r.Port
	if !same || e.Expires.Sub(now) < MinimumLeft {
		return Reservation{}, false
	}
	p.counts.Repeats++
	for _, q := range e.queries[:min(e.Granted, MaxClaims)] {
		if q == r.Query {
			return e.Reservation, true
		}
	}
	if e.Granted < MaxClaims {
		e.queries[e.Granted] = r.Query
		e.Granted++
		e.Claims++
	}
	return e.Reservation, true
}

// admit applies the half-open quotas and the table's bound.
func (p *Pool) admit(r *Request) error {
	switch {
	case p.options.HalfOpen > 0 && p.counts.Offered >= p.options.HalfOpen:
		p.counts.Refused++
		return ErrHalfOpen
	case p.options.HalfOpenPerHost > 0 && p.halfOpen[r.Host] >= p.options.HalfOpenPerHost:
		p.counts.Refused++
		return ErrHalfOpenHost
	case p.counts.Offered+p.counts.Held+p.counts.Quarantined >= p.options.Capacity:
		p.counts.Full++
		return ErrFull
	}
	return nil
}

// vacancy returns an entry that holds nothing.
func (p *Pool) vacancy() int32 {
	for n := len(p.vacant); n > 0; n = len(p.vacant) {
		e := p.vacant[n-1]
		p.vacant = p.vacant[:n-1]
		if !p.entries[e].live { // adoption may have taken it meanwhile
			return e
		}
	}
	p.entries = append(p.entries, entry{})
	return int32(len(p.entries) - 1) // bounded by MaxCapacity
}
