package datapath

import (
	"fmt"
	"math"
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// What "realmgate tune" and bench expect of memory is what the kernel accounts for.
func TestMemoryModel(t *testing.T) {
	t.Parallel()
	for _, sessions := range []int{10_000, 1_000_000} {
		for _, addresses := range []int{1, 16} {
			t.Run(fmt.Sprint(sessions, " sessions, ", addresses, " addresses"), func(t *testing.T) {
				list := make([]netip.Addr, addresses)
				for i := range list {
					list[i] = netip.AddrFrom4([4]byte{198, 18, 1, byte(i)})
				}
				g := newGateway(t, capacity(sessions), outboundAddresses(list...))
				got, want := must(g.data.Memory())(t), method.RealmgateBytes(sessions, addresses)
				if off := float64(want)/float64(got) - 1; math.Abs(off) > 0.03 {
					t.Errorf("the kernel counts %d bytes, the model %d: %.1f %% apart", got, want, 100*off)
				}
			})
		}
	}
}
