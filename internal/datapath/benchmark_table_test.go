package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// BenchmarkBytesPerSession reports the memory of all tables, divided by the
// capacity, and beside it that of what is counted for each address. Default: one outbound address. Worst: every session has a mapping of
// its own, and every port of the addresses is one.
func BenchmarkBytesPerSession(b *testing.B) {
	for _, c := range []struct {
		name                string
		capacity, addresses int
	}{{"default", 1_000_000, 1}, {"worst", 5 * protocols * ports, 5}} {
		b.Run(c.name, func(b *testing.B) {
			var usage Usage
			for range b.N {
				data, err := Open(Options{Capacity: c.capacity, Outbound: outboundAddresses(c.addresses)})
				if err != nil {
					b.Skip(err)
				}
				if usage, err = data.Usage(); err != nil {
					b.Fatal(err)
				}
				if err := data.Close(false); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(usage.Bytes-usage.AddressBytes-usage.FragmentBytes)/float64(c.capacity), "bytes/session")
			b.ReportMetric(float64(usage.AddressBytes), "address-bytes")
			b.ReportMetric(float64(usage.FragmentBytes), "fragment-bytes")
		})
	}
}

// BenchmarkReserve measures how fast the daemon can reserve and withdraw: each is a
// system call.
func BenchmarkReserve(b *testing.B) {
	for _, standing := range []int{0, 10_000} {
		name := map[bool]string{true: "standing=0", false: "standing=10000"}[standing == 0]
		b.Run(name, func(b *testing.B) {
			r := newRig(b, Options{Capacity: model.MinCapacity, Outbound: outboundAddresses(1), Reservations: 16384})
			bound := r.bind()
			reservation := func(i int) Reservation {
				asker := netip.AddrFrom4([4]byte{65, 0, byte(i >> 8), byte(i)})
				return Reservation{ID: 1<<32 | uint64(i), Binding: bound.ID, Asker: asker, Expires: Now().Add(3600e9), Claims: 1}
			}
			for i := range standing {
				if err := r.data.Reserve(reservation(i)); err != nil {
					b.Fatal(err)
				}
			}
			next := reservation(standing)
			for b.Loop() {
				if err := r.data.Reserve(next); err != nil {
					b.Fatal(err)
				}
				if _, err := r.data.Withdraw(next.ID); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}
