package datapath

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// BenchmarkRelease measures what datagrams take whose first fragment comes last, so that all others are held and released,
// beside those that come in order, in turns: from the call that sends their frames on a veth until the last was read
// behind the gateway.
func BenchmarkRelease(b *testing.B) {
	for _, mode := range []Mode{XDP, TCX} {
		for _, fragments := range []int{2, 8} {
			b.Run(fmt.Sprintf("%s/fragments=%d", mode, fragments), func(b *testing.B) {
				r := newRig(b, Options{
					Capacity: model.MinCapacity, Outbound: outboundAddresses(1), Modes: map[string]Mode{"eth0": mode, "eth1": mode},
				})
				r.release(b, fragments)
			})
		}
	}
}

func (r *rig) release(b *testing.B, fragments int) {
	b.Helper()
	in, out := r.frames("eth1"), r.frames("eth0")
	mac, err := r.namespace.MAC("eth1")
	if err != nil {
		b.Fatal(err)
	}
	whole := packets.NewUDP(netip.AddrPortFrom(rigHost, 40000), netip.MustParseAddrPort("64.1.2.3:443"), string(make([]byte, fragments*1000-8))).
		Between(packets.HostMAC, packets.MAC(mac))
	// one sends a datagram, and returns how long that took.
	one := func(id int, backwards bool) time.Duration {
		pieces := whole.Change(func(p *packets.Packet) { p.IPv4.DF, p.IPv4.ID = false, uint16(id) }).Fragments(1000)
		if backwards {
			slices.Reverse(pieces)
		}
		list := make([][]byte, len(pieces))
		for i, p := range pieces {
			list[i] = p.Bytes()
		}
		batch := in.Batch(list)
		began := time.Now()
		sent, err := batch.Send()
		if err != nil || sent != len(list) {
			b.Fatalf("%d of %d frames were sent: %v", sent, len(list), err)
		}
		for came := 0; came < len(list); {
			frame, err := out.Receive(began.Add(5 * time.Second))
			if err != nil {
				b.Fatalf("%d of %d fragments came out: %v", came, len(list), err)
			}
			if p, err := packets.Parse(frame); err == nil && p.IPv4 != nil && p.IPv4.Destination == whole.IPv4.Destination {
				came++
			}
		}
		return time.Since(began)
	}
	one(0, false) // opens the session
	var ordered, reversed, beyond []float64
	for n := range max(b.N, 1000) {
		a, z := one(2*n+1, false), one(2*n+2, true)
		ordered, reversed = append(ordered, float64(a)), append(reversed, float64(z))
		beyond = append(beyond, float64(z-a))
	}
	slices.Sort(beyond)
	b.ReportMetric(median(reversed), "ns/op")
	b.ReportMetric(median(ordered), "ordered-ns")
	b.ReportMetric(median(beyond), "release-ns")
	b.ReportMetric(beyond[len(beyond)/4], "release-25%")
	b.ReportMetric(beyond[len(beyond)*3/4], "release-75%")
}

// frames are those of the other end of an interface.
func (r *rig) frames(ifname string) *netns.Frames {
	r.tb.Helper()
	frames, err := r.peer.Frames(ifname)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(func() { _ = frames.Close() })
	return frames
}
