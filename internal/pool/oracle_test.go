package pool

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// oracle is the specification in the plainest form: a list that every question
// walks. It knows nothing of places, slots or levels.
type oracle struct {
	options Options
	lent    map[uint64]*Reservation
	queries map[uint64]map[uint64]bool
	used    map[uint64]model.Instant // last claim
}

func (o *oracle) covers(r *Reservation, proto model.Protocol, port uint16, from netip.Addr) bool {
	return (r.Protocol == model.AnyProtocol || r.Protocol == proto) && (r.Port == 0 || r.Port == port) &&
		(!r.Source.IsValid() || r.Source.Contains(from))
}

// mayTake is the rule for one address: why a request may not have it, or "".
func (o *oracle) mayTake(a netip.Addr, q Request) string {
	if o.options.Blocked != nil && o.options.Blocked(a, q.Protocol, q.Port) {
		return "blocked"
	}
	for _, r := range o.lent {
		if r.Address != a {
			continue
		}
		pd := (r.Protocol == 0 || q.Protocol == 0 || r.Protocol == q.Protocol) &&
			(r.Port == 0 || q.Port == 0 || r.Port == q.Port)
		sources := !r.Source.IsValid() || !q.Source.IsValid() || r.Source.Overlaps(q.Source)
		resting := r.State == Expired || r.State == Cancelled
		whole := r.Protocol == 0 && r.Port == 0 || q.Protocol == 0 && q.Port == 0
		switch {
		case resting && r.Host != q.Host && pd && sources:
			return "quarantined"
		case !resting && pd && (sources || whole):
			return "conflict"
		}
	}
	return ""
}

func (o *oracle) onAddress(a netip.Addr) (n int) {
	for _, r := range o.lent {
		if r.Address == a {
			n++
		}
	}
	return n
}

// standing finds the offers that a repeated question may get.
func (o *oracle) standing(now model.Instant, q Request) (found []uint64) {
	for id, r := range o.lent {
		if r.State == Offered && r.Name == q.Name && r.Requester == q.Requester && r.Host == q.Host &&
			r.Source == q.Source && r.Expires.Sub(now) >= MinimumLeft {
			found = append(found, id)
		}
	}
	return found
}

// check asks, for packets of every kind, who may get them: at most one
// reservation (I2), and at most one host even counting those that a late first
// packet could have been meant for.
func (o *oracle) check() error {
	for _, a := range testAddresses {
		for _, proto := range []model.Protocol{model.TCP, model.UDP, model.ICMP} {
			for _, port := range []uint16{80, 443, 9999} {
				for _, from := range []string{"192.0.2.1", "192.0.2.200", "203.0.113.1"} {
					live, hosts := 0, map[netip.Addr]bool{}
					for _, r := range o.lent {
						if r.Address != a || !o.covers(r, proto, port, netip.MustParseAddr(from)) {
							continue
						}
						hosts[r.Host] = true
						if r.State == Offered || r.State == Claimed {
							live++
						}
					}
					if live > 1 || len(hosts) > 1 {
						return fmt.Errorf("%s %d to %s from %s matches %d reservations and may be for %d hosts",
							proto, port, a, from, live, len(hosts))
					}
				}
			}
		}
	}
	return nil
}

var testAddresses = []netip.Addr{
	netip.MustParseAddr("198.18.0.32"), netip.MustParseAddr("198.18.0.33"),
	netip.MustParseAddr("198.18.0.34"), netip.MustParseAddr("198.18.0.35"),
}

func host(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}) }

func client(n int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, byte(n >> 8), byte(n)}) }

func defaults() Options {
	return Options{Addresses: testAddresses, Offer: 2 * time.Second, Again: time.Second, Quarantine: time.Second}
}

// service asks for host n's (proto, port); hostName for the host itself.
func service(n int, proto model.Protocol, port uint16) Request {
	return Request{
		Name: model.Name(fmt.Sprintf("%s-%d.host%d.foo.example.", proto, port, n)), Host: host(n), HostPort: port,
		Protocol: proto, Port: port, Requester: client(1), Query: 1, Verified: true,
	}
}

func hostName(n int) Request { return service(n, model.AnyProtocol, 0) }

func repeatable(p *Pool, seed uint64) {
	p.generation = 0xffffffff // wraps at once
	source := rand.New(rand.NewPCG(seed, 0))
	p.dice.fill = func(b []byte) {
		for i := range b {
			b[i] = byte(source.Uint32())
		}
	}
}
