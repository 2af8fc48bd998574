package gateway

import (
	"context"
	"net/netip"
	"testing"
	"time"
)

// When the kernel's notices end (its buffer ran over, say), the daemon listens
// anew.
func TestUpkeepListensAnew(t *testing.T) {
	r := newRig(t, text)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	ended := &hostWatch{done: make(chan struct{})}
	ended.links, ended.addresses, ended.routes = closed(ended.links), closed(ended.addresses), closed(ended.routes)
	go func() {
		defer close(done)
		_ = r.namespace.Do(func() error { r.runUpkeep(ctx, ended); return nil })
	}()
	defer func() { cancel(); <-done }()
	// Faster than the tickers, so by a notice.
	time.Sleep(refreshEvery + refreshEvery/4)
	for n := range 5 {
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, 0, byte(40 + n)}), 24)
		if err := r.namespace.Address("eth0", prefix.String()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(40 * time.Millisecond)
		if r.blocked(prefix.Addr(), 0, 0) {
			return
		}
	}
	t.Errorf("nobody noticed new addresses on eth0")
}

func closed[T any](chan T) chan T {
	c := make(chan T)
	close(c)
	return c
}
