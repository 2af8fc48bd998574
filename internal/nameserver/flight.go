package nameserver

import (
	"context"
	"sync"
)

// flights are the questions that upstream is asked now: each once for all who
// want the same under the same settings, and no longer than somebody does.
type flights struct {
	mu   sync.Mutex
	live map[flightKey]*flight
}

type flightKey struct {
	settings *privateSettings
	cacheKey
}

type flight struct {
	waiters int
	cancel  context.CancelFunc
	done    chan struct{}
	found   *upstreamReply // once done
}

// join waits for what ask finds, or somebody before found, until gaveUp is closed.
// ctx is the server's: one asker's end does not take the answer from the others.
func (f *flights) join(ctx context.Context, key flightKey, gaveUp <-chan struct{}, ask func(context.Context) *upstreamReply) (found *upstreamReply, joined bool) {
	f.mu.Lock()
	one, joined := f.live[key]
	if !joined {
		one = f.begin(ctx, key, ask)
	}
	one.waiters++
	f.mu.Unlock()
	select {
	case <-one.done:
		found = one.found
	case <-gaveUp:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if one.waiters--; one.waiters == 0 {
		f.end(key, one)
	}
	return found, joined
}

// begin asks. Under the lock.
func (f *flights) begin(ctx context.Context, key flightKey, ask func(context.Context) *upstreamReply) *flight {
	ctx, cancel := context.WithCancel(ctx)
	one := &flight{cancel: cancel, done: make(chan struct{})}
	if f.live == nil {
		f.live = map[flightKey]*flight{}
	}
	f.live[key] = one
	go func() {
		one.found = ask(ctx)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.end(key, one)
		close(one.done)
	}()
	return one
}

// end lets nobody else join. Under the lock.
func (f *flights) end(key flightKey, one *flight) {
	one.cancel()
	if f.live[key] == one {
		delete(f.live, key)
	}
}
