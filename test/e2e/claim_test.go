package e2e

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// One resolver asks the same name all the time, and each answer is used at
// once: often the data plane has given away the last claim before the daemon
// hears of it. Nobody may be turned away for that.
func TestOneResolverManyClaimers(t *testing.T) {
	t.Parallel()
	const askers, seconds = 4, 3
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.echoServers()
	r.start(with(r.configuration(), "pool: {addresses: ["+r.Gateway.Pool.String()+"], rest: 1s, "+
		"quotas: {client: 0, resolver: 0, host: 0, service: 0}}"))
	client, name := r.Clients[0], "echo."+hostName(0)
	var running sync.WaitGroup
	var answered, failed atomic.Int64
	end := time.Now().Add(seconds * time.Second)
	for range askers {
		running.Go(func() {
			for tick := time.Now(); tick.Before(end); tick = tick.Add(5 * time.Millisecond) {
				time.Sleep(time.Until(tick))
				address, err := lent(client, r.Gateway, name)
				if err == nil {
					connection, dialErr := client.DialContext(context.Background(), "udp4", echoAddress(address).String())
					if dialErr == nil {
						_, dialErr = connection.Write([]byte("x"))
						dialErr = errors.Join(dialErr, connection.Close())
					}
					err = dialErr
				}
				if err == nil {
					answered.Add(1)
				} else if failed.Add(1) == 1 {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	t.Logf("%d answered, %d not", answered.Load(), failed.Load())
	if failed.Load() > 0 {
		t.Errorf("%d of %d were not answered", failed.Load(), failed.Load()+answered.Load())
	}
	// Not from the same client: its ports may meet sessions of theirs (I8).
	r.mustReach(r.Clients[1], 0)
}
