package link

import (
	"context"
	"fmt"
	"time"
)

const (
	redialLeast = time.Second
	redialMost  = time.Minute
	redialPacts = 4 * time.Second // a peer that returns must find its pacts within 5 s
	courtesy    = time.Second     // the smaller name dials first: each connection more uses up an epoch of the tunnel's keys
	steady      = 10 * time.Second
)

// dials keeps a link to the peer, where it has an address, until the context ends.
func (p *peer) dials(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		if stood, was := p.awaitLoss(ctx); was {
			if failures++; stood >= steady {
				failures = 1
			}
			p.rest(ctx, failures)
			continue
		}
		if err := p.dial(ctx); err != nil {
			failures++
			p.rest(ctx, failures)
		}
	}
}

// awaitLoss waits while there is a link, and says for how long there was one.
func (p *peer) awaitLoss(ctx context.Context) (time.Duration, bool) {
	p.mu.Lock()
	was, since := p.link != nil, p.since
	p.mu.Unlock()
	if !was {
		return 0, false
	}
	select {
	case <-p.lost:
	case <-ctx.Done():
	}
	return p.links.o.Now().Sub(since), true
}

// rest waits before the next attempt; somebody who asks ends it.
func (p *peer) rest(ctx context.Context, failures int) {
	p.mu.Lock()
	select {
	case <-p.wanted: // of an ask that has its answer, or a wish
	default:
	}
	wish := p.wish
	p.mu.Unlock()
	if wish {
		return
	}
	most := redialMost
	if p.links.o.Pacts(p.name) {
		most = redialPacts
	}
	wait := backoff(failures, most, p.links.o.Random())
	if failures == 1 && p.links.o.Name > p.name {
		wait += courtesy
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.wanted:
	case <-ctx.Done():
	}
}

// backoff is how long to wait after so many failures: doubled each time, ± 20 %, so that two that failed together part; never over most.
func backoff(failures int, most time.Duration, random uint64) time.Duration {
	wait := most
	if failures < 8 {
		wait = min(redialLeast<<(max(failures, 1)-1), most)
	}
	return min(wait*4/5+wait*2/5*time.Duration(random&0xff)/0xff, most)
}

// dial makes one attempt.
func (p *peer) dial(ctx context.Context) error {
	p.mu.Lock()
	to := p.config.Address
	p.wish = false
	p.mu.Unlock()
	if !to.IsValid() { // it dials us
		select {
		case <-p.wanted:
		case <-ctx.Done():
		}
		return nil
	}
	p.expect()
	within, cancel := context.WithTimeout(ctx, p.links.o.Wait)
	defer cancel()
	raw, err := p.links.o.Dial(within, to)
	if err != nil {
		err = fmt.Errorf("dial %s: %w", to, err)
		p.arrived(met{}, err)
		return err
	}
	m, err := p.links.meet(ctx, raw, p)
	if err == nil {
		p.links.running.Go(m.live)
	}
	return err
}
