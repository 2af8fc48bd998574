package ability

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// lookTime is how long Look takes at most.
const lookTime = 5 * time.Second

// Look asks all hosts once, for who has no service running, and says what people should know. Hosts that it does not come to,
// or that do not answer, are left out.
func Look(ctx context.Context, dial Dial, hosts []Host, addresses []netip.Addr) []string {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	k := newKnown(func() float64 { return 0 })
	k.follow(hosts, addresses, time.Now())
	var mutex sync.Mutex
	var asking sync.WaitGroup
	due := make(chan Endpoint)
	for range mostAsking {
		asking.Go(func() {
			for e := range due {
				if a := dial.ask(ctx, e); a.Err == nil {
					mutex.Lock()
					k.take(e, a, time.Now())
					mutex.Unlock()
				}
			}
		})
	}
	for _, r := range k.order[ours] {
		if ctx.Err() == nil {
			due <- r.Endpoint
		}
	}
	close(due)
	asking.Wait()
	j := k.judge(time.Now())
	return j.warnings()
}
