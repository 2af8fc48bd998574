package gateway

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
)

// dropFeed hands the one stream of dropped packets to everyone who watches. It
// reads, and the data plane samples, only while somebody does.
type dropFeed struct {
	mutex    sync.Mutex
	watchers map[chan api.Drop]bool
	events   *datapath.Events[datapath.DropEvent]
	closed   bool
}

// dropBuffer is how many drops a slow watcher may be behind; more are lost.
const dropBuffer = 1024

var errStopping = errors.New("the daemon is stopping")

func (f *dropFeed) join(data *datapath.Datapath, failed func(error)) (chan api.Drop, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.closed {
		return nil, errStopping
	}
	if f.events == nil {
		events, err := data.Drops()
		if err != nil {
			return nil, err
		}
		f.events, f.watchers = events, map[chan api.Drop]bool{}
		data.WatchDrops(true)
		go f.run(events, failed)
	}
	watcher := make(chan api.Drop, dropBuffer)
	f.watchers[watcher] = true
	return watcher, nil
}

func (f *dropFeed) leave(data *datapath.Datapath, watcher chan api.Drop) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.watchers, watcher)
	if len(f.watchers) == 0 && f.events != nil {
		data.WatchDrops(false)
		_ = f.events.Close()
		f.events = nil
	}
}

func (f *dropFeed) close() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.closed = true
}

func (f *dropFeed) run(events *datapath.Events[datapath.DropEvent], failed func(error)) {
	names := map[int]string{}
	events.Follow(failed, func(event datapath.DropEvent) {
		name, known := names[event.Interface]
		if !known {
			if iface, err := net.InterfaceByIndex(event.Interface); err == nil {
				name = iface.Name
			}
			names[event.Interface] = name // a handful of interfaces
		}
		ago := datapath.Now().Sub(event.At)
		f.hand(api.Drop{Time: time.Now().Add(-ago), Reason: event.Reason, Side: event.Side, Interface: name,
			Tuple: event.Tuple, Length: event.Length})
	})
}

func (f *dropFeed) hand(drop api.Drop) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for watcher := range f.watchers {
		select {
		case watcher <- drop:
		default:
		}
	}
}

// Drops implements api.Gateway.
func (g *Gateway) Drops(ctx context.Context, filter api.Filter, visit func(api.Drop) bool) error {
	drops, err := g.drops.join(g.data, func(err error) { g.log.Warn("a drop was not read", "error", err) })
	if err != nil {
		return err
	}
	defer g.drops.leave(g.data, drops)
	v := g.view.Load()
	for {
		select {
		case <-ctx.Done():
			return nil
		case drop := <-drops:
			drop.Host = v.hostOf(drop.Tuple.Source.Addr(), drop.Tuple.Destination.Addr())
			if filter.MatchDrop(drop) && !visit(drop) {
				return nil
			}
		}
	}
}
