package machine

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vishvananda/netlink"
)

// following counts what a Reconciler calls.
type following struct {
	listened, refreshed, routed, confirmed int
	silent                                 int // how often nobody can listen
	notices                                *Notices
}

func (f *following) reconciler() *Reconciler {
	return &Reconciler{
		Listen: func() (*Notices, error) {
			if f.listened++; f.listened <= f.silent {
				return nil, errors.New("no buffer space available")
			}
			f.notices = fresh()
			return f.notices, nil
		},
		Refresh:    func() error { f.refreshed++; return nil },
		Look:       func() error { return nil },
		Routed:     func() { f.routed++ },
		Hops:       func() bool { return true },
		Neighbours: func() error { f.confirmed++; return nil },
		Log:        slog.New(slog.DiscardHandler),
	}
}

func fresh() *Notices {
	return &Notices{
		Done: make(chan struct{}), Links: make(chan netlink.LinkUpdate),
		Addresses: make(chan netlink.AddrUpdate), Routes: make(chan netlink.RouteUpdate),
	}
}

// run follows the kernel from w on until stop is called, which ends the senders of notices
// as netlink does.
func (f *following) run(w *Notices) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	f.notices = w
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.reconciler().Run(ctx, w)
	}()
	return func() {
		cancel()
		<-done
		close(f.notices.Links)
		close(f.notices.Addresses)
		close(f.notices.Routes)
	}
}

// When the kernel's notices end (its buffer ran over, say), it is listened to anew at the next
// refresh, or the one after, and what was missed is looked at.
func TestReconcilerListensAnew(t *testing.T) {
	t.Parallel()
	for _, silent := range []int{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			ended := fresh()
			close(ended.Links)
			f := &following{silent: silent}
			go func() { // what close drains
				<-ended.Done
				close(ended.Addresses)
				close(ended.Routes)
			}()
			stop := f.run(ended)
			time.Sleep(time.Duration(silent+1)*refreshEvery - time.Millisecond)
			synctest.Wait()
			if f.listened != silent || f.routed != 1 {
				t.Fatalf("before the refresh: listened %d times, looked at routes %d times", f.listened, f.routed)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if f.listened != silent+1 || f.routed != 2 {
				t.Fatalf("at the refresh: listened %d times, looked at routes %d times", f.listened, f.routed)
			}
			f.notices.Addresses <- netlink.AddrUpdate{}
			synctest.Wait()
			if f.routed != 3 {
				t.Errorf("nobody noticed a new address")
			}
			stop()
		})
	}
}

// The data plane is compared with the kernel each second, and neighbours are confirmed each
// five, where no notice comes.
func TestReconcilerWithoutNotices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &following{}
		stop := f.run(fresh())
		time.Sleep(4*neighboursEvery + time.Millisecond)
		synctest.Wait()
		if f.refreshed != 20 || f.confirmed != 4 || f.routed != 0 || f.listened != 0 {
			t.Errorf("in 20 s: %+v", f)
		}
		stop()
	})
}
