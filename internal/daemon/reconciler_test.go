package daemon

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/guard/ban"
	"github.com/realmgate/realmgate/internal/machine"
)

// Routes and addresses are followed also while the bans wait for a disk that stalls; who is
// exempt of them is looked at later.
func TestReconcilerDoesNotWaitForBans(t *testing.T) {
	t.Parallel()
	r := newRig(t, text)
	exempt, asked, disk := r.bans.Exempt, make(chan struct{}, 8), make(chan struct{})
	r.bans.Exempt = func() (ban.Exempt, error) {
		asked <- struct{}{}
		<-disk
		return exempt()
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	w := &machine.Notices{
		Done: make(chan struct{}), Links: make(chan netlink.LinkUpdate),
		Addresses: make(chan netlink.AddrUpdate), Routes: make(chan netlink.RouteUpdate),
	}
	var banning sync.WaitGroup
	banning.Go(func() { r.ban(netip.MustParsePrefix("203.0.113.7/32")) })
	<-asked
	go func() {
		defer close(done)
		_ = r.namespace.Do(func() error { r.reconciler().Run(ctx, w); return nil })
	}()
	defer func() {
		cancel()
		banning.Wait()
		<-done
		close(w.Links)
		close(w.Addresses)
		close(w.Routes)
	}()
	notice := func() {
		t.Helper()
		select {
		case w.Links <- netlink.LinkUpdate{}:
		case <-time.After(20 * time.Second):
			t.Fatal("nobody takes notice of changes")
		}
	}
	address := netip.MustParsePrefix("198.18.0.40/24")
	if err := r.namespace.Address("eth0", address.String()); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < 5*time.Second/4; { // the ticker's turn is among them
		notice()
	}
	if !r.blocked(r.view.Load(), address.Addr(), 0, 0) {
		t.Error("a new address is not noticed")
	}
	close(disk)
	banning.Go(func() { _ = r.namespace.Do(func() error { return r.bans.Run(ctx) }) })
	select {
	case <-asked:
	case <-time.After(20 * time.Second):
		t.Error("nobody looks who must not be banned")
	}
}
