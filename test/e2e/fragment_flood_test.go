package e2e

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// strangeFragments are from anybody, of packets whose first fragments do not come, to addresses of the gateway's.
func (r *realm) strangeFragments(from netns.Node, count int) [][]byte {
	r.t.Helper()
	targets := []netip.Addr{r.Gateway.Outbound, r.Gateway.Pool.Addr()}
	return r.frames(from, r.Gateway.Public[0], count, func(i int) packets.Packet {
		var source [4]byte
		binary.BigEndian.PutUint32(source[:], 203<<24|rand.Uint32()>>8) //nolint:gosec // any will do
		p := packets.NewUDP(netip.AddrPortFrom(netip.AddrFrom4(source), anyPort()), netip.AddrPortFrom(targets[i%2], anyPort()), "0123456789abcdef")
		return p.Change(func(p *packets.Packet) {
			p.IPv4.DF, p.IPv4.ID = false, uint16(rand.Uint32()) //nolint:gosec // any will do
		}).Fragments(8)[1+i%2]
	})
}

// TestForgedFragmentsKeepNobodyAway floods the gateway with forged fragments, as many a second as one core sends: of
// the datagrams in fragments of who has a session, in any order, 95 of 100 come at least, in both forms.
func TestForgedFragmentsKeepNobodyAway(t *testing.T) {
	const most, different, tries = 1_000_000, 50_000, 250
	for mode, change := range map[string]func(string) string{
		"tcx": func(c string) string { return c }, "xdp": func(c string) string { return atXDP(c, "eth0", "eth1") },
	} {
		t.Run(mode, func(t *testing.T) {
			r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
			d := r.start(change(r.configuration()))
			courses, frames := r.courses(r.Clients[0]), r.strangeFragments(r.Clients[1], different)
			before, began := d.counted("drop_fragment"), time.Now()
			sent, stop := r.onslaught(r.Clients[1], most, frames)
			defer stop()
			eventually(t, time.Minute, "the flood stands", func() bool { return d.counted("drop_fragment")-before > different })
			var running sync.WaitGroup
			lost := make([]int, len(courses))
			for i, c := range courses {
				running.Go(func() {
					random := rand.New(rand.NewPCG(3, uint64(i))) //nolint:gosec // a test's choice
					for n := range tries {
						if err := c.pass(random, n*len(courses)+i, 2*time.Second); err != nil {
							lost[i]++
						}
					}
				})
			}
			running.Wait()
			rate := float64(sent.Load()) / time.Since(began).Seconds()
			dropped := float64(d.counted("drop_fragment")-before) / time.Since(began).Seconds()
			stop()
			for i, c := range courses {
				t.Logf("%s: %d of %d came", c.name, tries-lost[i], tries)
				if lost[i] > tries/20 {
					t.Errorf("%s: %d of %d datagrams did not come", c.name, lost[i], tries)
				}
			}
			t.Logf("%.0f forged fragments a second were sent, %.0f came to the gateway's program", rate, dropped)
		})
	}
}
