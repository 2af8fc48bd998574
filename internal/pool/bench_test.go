package pool

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

func manyAddresses(n int) []netip.Addr {
	a := make([]netip.Addr, n)
	for i := range a {
		a[i] = netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)})
	}
	return a
}

// manyServices are services of as many owners; what each opens goes round.
func manyServices(n int, open ...[]model.Port) []Service {
	s := make([]Service, n)
	for i := range s {
		name := model.Name(fmt.Sprintf("s%d.foo.example.", i))
		s[i] = Service{Name: name, Owner: name, Zones: []model.Name{"foo.example."},
			Host: netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), Ports: open[i%len(open)]}
	}
	return s
}

// BenchmarkReserve measures a visit to a service that has its binding: Bind, Reserve and the Claimed that ends the
// reservation, with a number of others standing.
func BenchmarkReserve(b *testing.B) {
	for _, c := range []struct{ addresses, standing int }{{16, 0}, {256, 10000}, {65536, 100000}} {
		b.Run(fmt.Sprintf("addresses=%d/standing=%d", c.addresses, c.standing), func(b *testing.B) {
			o := defaults()
			o.Addresses, o.Bindings, o.Capacity = manyAddresses(c.addresses), 1<<17, 1<<18
			p, err := New(o)
			if err != nil {
				b.Fatal(err)
			}
			services := manyServices(c.addresses, ports("tcp/80", "tcp/443"))
			p.SetServices(1, services)
			p.Place(1)
			var standing []uint64
			seed := uint32(1)
			reserve := func(n int) {
				name := services[n%len(services)].Name
				if _, _, _, err := p.Bind(2, name); err != nil {
					b.Fatal(err)
				}
				q := Request{Service: name, Name: name, Requester: netip.AddrFrom4([4]byte{192, byte(n >> 16), byte(n >> 8), byte(n)}), Query: uint64(n)}
				res, fresh, err := p.Reservations.Reserve(2, q)
				if err != nil || !fresh {
					b.Fatal(n, fresh, err)
				}
				standing = append(standing, res.ID)
			}
			for n := range c.standing {
				reserve(n)
			}
			b.ReportAllocs()
			for n := c.standing; b.Loop(); n++ {
				reserve(n)
				// Claims come in no order of the reservations'.
				i := int(seed>>8) % len(standing)
				seed = seed*1664525 + 1013904223
				p.Reservations.Claimed(2, standing[i], 0)
				standing[i] = standing[len(standing)-1]
				standing = standing[:len(standing)-1]
			}
		})
	}
}

// BenchmarkMove measures a visit for which a place moves: twice as many services as the addresses can take at a time ask in
// turn, as fast as the rest allows. Of one in four the data plane knows a later use, of one in eight a standing session.
func BenchmarkMove(b *testing.B) {
	web, mail, ssh := ports("tcp/80", "tcp/443", "udp/443"), ports("tcp/25"), ports("tcp/22")
	for _, c := range []struct {
		name      string
		addresses int
		open      [][]model.Port
	}{
		{"web", 16, [][]model.Port{web}}, {"web", 256, [][]model.Port{web}}, {"web", 65536, [][]model.Port{web}},
		{"mixed", 16, [][]model.Port{web, mail, ssh}}, {"mixed", 256, [][]model.Port{web, mail, ssh}},
		{"mixed", 65536, [][]model.Port{web, mail, ssh}}, {"ftp", 256, [][]model.Port{ports("tcp/21", "tcp/50000-50099")}},
	} {
		b.Run(fmt.Sprintf("%s/addresses=%d", c.name, c.addresses), func(b *testing.B) {
			room := c.addresses * len(c.open)
			used := make([]model.Instant, 1<<19)
			sessions := make([]int, 1<<19)
			o := defaults()
			o.Addresses, o.Bindings = manyAddresses(c.addresses), 1<<19
			o.Use = func(id uint64) (model.Instant, int) { return used[uint32(id)], sessions[uint32(id)] }
			p, err := New(o)
			if err != nil {
				b.Fatal(err)
			}
			services := manyServices(2*room, c.open...)
			p.SetServices(1, services)
			now := model.Instant(time.Second)
			step := 2 * o.Rest / time.Duration(room)
			moved := 0
			visit := func(n int) {
				now = now.Add(step)
				expire(p, now)
				name := services[n%len(services)].Name
				binding, gone, _, err := p.Bind(now, name)
				if err != nil {
					b.Fatal(err)
				}
				moved += len(gone)
				if _, _, err := p.Reservations.Reserve(now, Request{Service: name, Name: name, Requester: client(1), Query: uint64(n)}); err != nil {
					b.Fatal(err)
				}
				slot := binding.Slot()
				used[slot], sessions[slot] = 0, 0
				switch n % 8 {
				case 0, 1:
					used[slot] = now.Add(step)
				case 2:
					used[slot], sessions[slot] = now, 1
				}
			}
			n := 0
			for ; n < room; n++ {
				visit(n)
			}
			moved = 0
			b.ReportAllocs()
			rounds := 0
			for b.Loop() {
				visit(n)
				n++
				rounds++
			}
			b.ReportMetric(float64(moved)/float64(rounds), "moves/op")
		})
	}
}

// BenchmarkExhausted measures a question for which nothing has rested, the most an attacker gets a full pool to do.
func BenchmarkExhausted(b *testing.B) {
	for _, addresses := range []int{16, 256, 65536} {
		b.Run(fmt.Sprintf("addresses=%d", addresses), func(b *testing.B) {
			o := defaults()
			o.Addresses, o.Bindings = manyAddresses(addresses), 1<<18
			p, err := New(o)
			if err != nil {
				b.Fatal(err)
			}
			services := manyServices(2*addresses, ports("tcp/80"), ports("tcp/22"))
			services = append(services, manyServices(2*addresses+2, ports("tcp/80"))[2*addresses:]...)
			p.SetServices(1, services)
			for _, bound := range p.Place(1) {
				if _, _, err := p.Reservations.Reserve(2, Request{Service: bound.Service.Name, Name: bound.Service.Name, Requester: client(1)}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, _, _, err := p.Bind(3, services[2*addresses].Name); err == nil {
					b.Fatal("not exhausted")
				}
			}
		})
	}
}

// BenchmarkRepeat measures a standing reservation's answer to the same question.
func BenchmarkRepeat(b *testing.B) {
	p, err := New(defaults())
	if err != nil {
		b.Fatal(err)
	}
	p.SetServices(1, []Service{service("a.", "a.", "tcp/80")})
	p.Place(1)
	q := ask("a.", 1, 1)
	b.ReportAllocs()
	for b.Loop() {
		q.Query++
		if _, _, err := p.Reservations.Reserve(1, q); err != nil {
			b.Fatal(err)
		}
	}
}
