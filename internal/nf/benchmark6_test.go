package nf

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// prefixes6 returns so many prefixes of 2000::/3, of 32 to 48 bits, most of them in a few
// prefixes of 16 bits, as those of the Internet are.
func prefixes6(random *rand.Rand, count int) []netip.Prefix {
	list := make([]netip.Prefix, count)
	for i := range list {
		var a [16]byte
		top := []uint16{0x2001, 0x2400, 0x2600, 0x2800, 0x2a00, 0x2a01, 0x2a02, 0x2c00}[random.IntN(8)]
		binary.BigEndian.PutUint16(a[:], top+uint16(random.IntN(16)))
		binary.BigEndian.PutUint32(a[2:], random.Uint32())
		list[i] = netip.PrefixFrom(netip.AddrFrom16(a), 32+random.IntN(17)).Masked()
	}
	return list
}

// BenchmarkProtectionOfIPv6 measures what it takes to find what is known of an IPv6
// address: with one prefix blocked, and with a geofence of 100,000 prefixes, alone and
// beside a million that are blocked. All addresses are within prefixes that are there.
func BenchmarkProtectionOfIPv6(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	fenced, blocked := prefixes6(random, 100_000), prefixes6(random, 1_000_000)
	set := func(prefixes ...netip.Prefix) *model.AddressSet {
		var r model.Ranges
		for _, p := range prefixes {
			r.Add(p)
		}
		return r.Set()
	}
	compile := func(of Addresses) table6 {
		made, err := Remote{In: of}.compile6()
		if err != nil {
			b.Fatal(err)
		}
		return made
	}
	few, fence := compile(Addresses{Blocked: set(netip.MustParsePrefix("2000::/3"))}), set(fenced...)
	for name, many := range map[string]table6{"geofence": compile(Addresses{Fenced: fence}), "geofence-and-blocklist": compile(Addresses{Blocked: set(blocked...), Fenced: fence})} {
		for _, count := range []int{64, 4096, 1 << 20} {
			b.Run(fmt.Sprintf("%s/addresses-%d", name, count), func(b *testing.B) {
				list := make([]Flow, count)
				for i := range list {
					high := fenced[random.IntN(len(fenced))].Addr().As16()
					list[i] = Flow{Direction: model.In, Source: netip.AddrFrom4([4]byte(high[:4])), Destination: netip.AddrFrom4([4]byte(high[4:8])), Protocol: model.TCP}
				}
				compare(b, newWalk6(b, few, list).marks6, newWalk6(b, many, list).marks6)
			})
		}
	}
}
