package pool

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// BenchmarkOffer measures one allocation, that is an Offer and the Claimed that
// frees its place at once, with a number of other offers standing.
func BenchmarkOffer(b *testing.B) {
	for _, c := range []struct {
		addresses, ports, standing int
		order                      Order
		again                      time.Duration
	}{
		{addresses: 256, ports: 64},
		{addresses: 256, ports: 64, standing: 10000},
		{addresses: 65536, ports: 64},
		{addresses: 65536, ports: 64, standing: 10000},
		{addresses: 65536, ports: 64, standing: 100000},
		{addresses: 65536, ports: 64, standing: 100000, order: Circular},
		{addresses: 65536, ports: 1, standing: 60000},
		{addresses: 65536, ports: 0, standing: 60000},
		{addresses: 256, ports: 64, standing: 10000, again: time.Second},
	} {
		name := fmt.Sprintf("addresses=%d/ports=%d/standing=%d", c.addresses, c.ports, c.standing)
		if c.order == Circular {
			name += "/circular"
		}
		if c.again > 0 {
			name += "/again"
		}
		b.Run(name, func(b *testing.B) {
			o := Options{Addresses: manyAddresses(c.addresses), Order: c.order, Offer: 2 * time.Second, Again: c.again, Capacity: 1 << 18}
			p, err := New(o)
			if err != nil {
				b.Fatal(err)
			}
			requests := manyRequests(200000, c.ports)
			now := model.Instant(1)
			standing := make([]uint64, 0, c.standing+1)
			seed := uint32(1)
			offer := func(n int) {
				r := &requests[n%len(requests)]
				r.Query, r.Requester = uint64(n), client(n/len(requests))
				res, fresh, err := p.Offer(now, *r)
				if err != nil || !fresh {
					b.Fatal(n, fresh, err)
				}
				standing = append(standing, res.ID)
			}
			for n := range c.standing {
				offer(n)
			}
			n := c.standing
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				offer(n)
				// Claims come in no order of the offers'.
				i := int(seed>>8) % len(standing)
				seed = seed*1664525 + 1013904223
				id := standing[i]
				standing[i] = standing[len(standing)-1]
				standing = standing[:len(standing)-1]
				p.Claimed(now, id, 0)
				if c.again > 0 {
					now = now.Add(500 * time.Microsecond)
					for _, id := range p.Due(now) {
						p.Expired(now, id)
					}
				}
				n++
			}
		})
	}
}

// BenchmarkRepeat measures a standing offer's answer to the same question.
func BenchmarkRepeat(b *testing.B) {
	p, err := New(defaults())
	if err != nil {
		b.Fatal(err)
	}
	q := service(1, model.TCP, 80)
	b.ReportAllocs()
	for b.Loop() {
		q.Query++
		if _, _, err := p.Offer(1, q); err != nil {
			b.Fatal(err)
		}
	}
}

func manyAddresses(n int) []netip.Addr {
	a := make([]netip.Addr, n)
	for i := range a {
		a[i] = netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)})
	}
	return a
}

// manyRequests makes requests for services on ports 1..ports of many hosts, or
// for host names without ports.
func manyRequests(n, ports int) []Request {
	r := make([]Request, n)
	for i := range r {
		if ports == 0 {
			r[i] = hostName(i)
		} else {
			r[i] = service(i, model.TCP, uint16(1+i%ports))
		}
		r[i].Host = netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
	}
	return r
}
