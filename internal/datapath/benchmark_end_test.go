package datapath

import (
	"fmt"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// BenchmarkEndAll measures the end of all sessions (RFC 9693 section 4.8), each
// with a mapping and a filter entry of its own.
func BenchmarkEndAll(b *testing.B) {
	for _, sessions := range sessionCounts {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			r := newRig(b, Options{Capacity: max(sessions, model.MinCapacity), Outbound: outboundAddresses(1 + sessions/32_000)})
			var spent time.Duration
			for range b.N {
				r.fill(sessions, model.UDP)
				begun := time.Now()
				n, err := r.data.EndAll()
				spent += time.Since(begun)
				if err != nil || n != sessions {
					b.Fatalf("%d of %d sessions ended: %v", n, sessions, err)
				}
			}
			b.ReportMetric(float64(b.N*sessions)/spent.Seconds(), "sessions/s")
			b.ReportMetric(float64(spent.Milliseconds())/float64(b.N), "ms/end")
		})
	}
}

// BenchmarkEndSessions measures the end of sessions that are picked one by one.
func BenchmarkEndSessions(b *testing.B) {
	const sessions = 100_000
	r := newRig(b, Options{Capacity: sessions, Outbound: outboundAddresses(4)})
	for b.Loop() {
		b.StopTimer()
		r.fill(sessions, model.UDP)
		b.StartTimer()
		if n, err := r.data.EndSessions(func(Session) bool { return true }); err != nil || n != sessions {
			b.Fatalf("%d of %d sessions ended: %v", n, sessions, err)
		}
	}
	b.ReportMetric(sessions*float64(b.N)/b.Elapsed().Seconds(), "sessions/s")
}
