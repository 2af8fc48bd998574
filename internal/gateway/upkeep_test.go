package gateway

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
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
		if r.blocked(r.view.Load(), prefix.Addr(), 0, 0) {
			return
		}
	}
	t.Errorf("nobody noticed new addresses on eth0")
}

// Routes and addresses are followed also while the bans wait for a disk that stalls; who is
// spared of them is looked at later.
func TestUpkeepDoesNotWaitForBans(t *testing.T) {
	r := newRig(t, text)
	r.bans.spare = make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	w := &hostWatch{
		done: make(chan struct{}), links: make(chan netlink.LinkUpdate),
		addresses: make(chan netlink.AddrUpdate), routes: make(chan netlink.RouteUpdate),
	}
	r.bans.mutex.Lock()
	go func() {
		defer close(done)
		_ = r.namespace.Do(func() error { r.runUpkeep(ctx, w); return nil })
	}()
	defer func() {
		r.bans.mutex.Unlock()
		cancel()
		<-done
		close(w.links)
		close(w.addresses)
		close(w.routes)
	}()
	notice := func() {
		t.Helper()
		select {
		case w.links <- netlink.LinkUpdate{}:
		case <-time.After(20 * time.Second):
			t.Fatal("nobody takes notice of changes")
		}
	}
	address := netip.MustParsePrefix("198.18.0.40/24")
	if err := r.namespace.Address("eth0", address.String()); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < refreshEvery+refreshEvery/4; { // the ticker's turn is among them
		notice()
	}
	if !r.blocked(r.view.Load(), address.Addr(), 0, 0) || len(r.bans.spare) != 1 {
		t.Error("a new address is not noticed")
	}
}

func closed[T any](chan T) chan T {
	c := make(chan T)
	close(c)
	return c
}
