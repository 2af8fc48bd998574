package pool

import (
	"sync"
	"testing"
)

// The counts may be read while the pool changes, by whoever looks: the race detector sees to it.
func TestStatisticsWhileThePoolChanges(t *testing.T) {
	t.Parallel()
	p, err := New(defaults())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if s := p.Statistics(); s.Addresses > len(testAddresses) || s.Services > 1 || s.Bindings > 1 {
					t.Errorf("%+v", s)
					return
				}
			}
		}
	})
	for now := second; now < 1000*second; now += 200 * second {
		p.SetServices(now, nil)
		o := defaults()
		o.Addresses = testAddresses[:1+int(now/second)%3]
		if _, err := p.Reconfigure(now, o); err != nil {
			t.Fatal(err)
		}
		p.Advance(now)
	}
	close(done)
	reading.Wait()
	if s := p.Statistics(); s.Addresses == 0 || s.Free != s.Addresses {
		t.Errorf("%+v", s)
	}
}
