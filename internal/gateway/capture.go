package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
)

// captureFeed hands copies of packets to everyone who captures. It reads, and the data
// plane copies, only while somebody does.
type captureFeed struct {
	mutex    sync.Mutex
	captures map[*capture]bool
	events   *datapath.Events[datapath.Capture]
	closed   bool
}

// join begins a capture.
func (f *captureFeed) join(g *Gateway, request api.CaptureRequest) (*capture, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.closed {
		return nil, errStopping
	}
	v := g.view.Load()
	if err := canCapture(v.config, request); err != nil {
		return nil, err
	}
	if f.events == nil {
		events, err := g.data.Captures()
		if err != nil {
			return nil, err
		}
		f.events, f.captures = events, map[*capture]bool{}
		booted := time.Now().Add(-time.Duration(datapath.Now())) // once, so that intervals are exact
		go events.Follow(func(err error) { g.log.Warn("a captured packet was not read", "error", err) },
			func(event datapath.Capture) { f.hand(event, booted) })
	}
	c := newCapture(request)
	f.captures[c] = true
	if err := errors.Join(c.look(g.data, v), f.watch(g.data)); err != nil {
		return nil, errors.Join(err, f.remove(g.data, c))
	}
	return c, nil
}

// leave ends a capture.
func (f *captureFeed) leave(g *Gateway, c *capture) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err := f.remove(g.data, c); err != nil {
		g.log.Warn("a capture did not end as it should", "error", err)
	}
}

func (f *captureFeed) remove(data *datapath.Datapath, c *capture) error {
	delete(f.captures, c)
	if len(f.captures) > 0 {
		return f.watch(data)
	}
	err := errors.Join(data.StopCaptures(), f.events.Close())
	f.events = nil
	return err
}

// reconfigure goes on with the functions of another view.
func (f *captureFeed) reconfigure(data *datapath.Datapath, v *view) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if len(f.captures) == 0 {
		return nil
	}
	var errs []error
	for c := range f.captures {
		errs = append(errs, c.look(data, v))
	}
	return errors.Join(append(errs, f.watch(data))...)
}

func (f *captureFeed) close() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.closed = true
}

// watch tells the data plane what all captures together want.
func (f *captureFeed) watch(data *datapath.Datapath) error {
	snaps := map[uint32]uint32{}
	for c := range f.captures {
		for number := range c.functions {
			snaps[number] = max(snaps[number], uint32(c.request.Snap))
		}
	}
	return data.WatchFunctions(snaps)
}

// hand gives a packet to those who want it. booted is when the programs' clock began.
func (f *captureFeed) hand(event datapath.Capture, booted time.Time) {
	p := api.Packet{
		Time: booted.Add(time.Duration(event.At)), Direction: event.Direction.String(), Tuple: event.Tuple,
		Length: event.Length, Data: event.Data,
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for c := range f.captures {
		c.put(event.Function, p)
	}
}

func (f *captureFeed) take(data *datapath.Datapath, c *capture) ([]api.Packet, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return c.take(data)
}

// prepareCaptures has captures go on with the functions of another view.
func (g *Gateway) prepareCaptures(d *draft) (change, error) {
	if d.before == nil {
		return change{}, nil
	}
	return change{Settle: func() {
		if err := g.captures.reconfigure(g.data, d.view); err != nil {
			g.log.Warn("a capture misses packets after this reload", "error", err)
		}
	}}, nil
}

// runCaptures lets people look at packets until ctx ends.
func (g *Gateway) runCaptures(ctx context.Context) {
	<-ctx.Done()
	g.drops.close()
	g.captures.close()
}

// Capture implements api.Gateway.
func (g *Gateway) Capture(ctx context.Context, request api.CaptureRequest, begun func(), visit func([]api.Packet) bool) error {
	c, err := g.captures.join(g, request)
	if err != nil {
		return err
	}
	defer g.captures.leave(g, c)
	begun()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.ready:
			packets, err := g.captures.take(g.data, c)
			if err != nil || !visit(packets) {
				return err
			}
		}
	}
}
