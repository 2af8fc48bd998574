package bench

import (
	"context"
	"time"
)

// Of a table that takes this many sessions, and minutes to fill, it is told how it fills.
const (
	leastWatched = 8_000_000
	watchEvery   = time.Second
)

// Watch samples how many sessions the device has, once a second, until the function that
// it returns is called, which plots them. Small tables fill too fast for that.
func (s *Sessions) Watch(ctx context.Context) (stop func()) {
	if s.dut.Setup.Sessions < leastWatched {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	sampled := make(chan Series, 1)
	go func() {
		curve := Series{DUT: s.dut.Name, Plot: "connections over time", X: "time, s", Y: "connections"}
		begun := time.Now()
		for ticker := time.NewTicker(watchEvery); ; {
			select {
			case <-ctx.Done():
				ticker.Stop()
				sampled <- curve
				return
			case now := <-ticker.C:
				if n, err := s.dut.Device.Count(ctx); err == nil {
					curve.Points = append(curve.Points, [2]float64{now.Sub(begun).Seconds(), float64(n)})
				}
			}
		}
	}()
	return func() {
		cancel()
		if curve := <-sampled; len(curve.Points) > 0 {
			s.bench.Plot(curve)
		}
	}
}
