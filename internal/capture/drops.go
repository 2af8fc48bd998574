package capture

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
)

// Drops hands the one stream of dropped packets to everyone who watches. It
// reads, and the data plane samples, only while somebody does.
type Drops struct {
	data   Data
	failed func(error)

	mutex    sync.Mutex
	watchers map[chan api.Drop]bool
	events   *datapath.Events[datapath.DropEvent]
	closed   bool
}

// dropBuffer is how many drops a slow watcher may be behind; more are lost.
const dropBuffer = 1024

var errStopping = errors.New("the daemon is stopping")

// Open says where drops come from, before Join. failed hears of what was not read.
func (f *Drops) Open(data Data, failed func(error)) { f.data, f.failed = data, failed }

// Watch calls visit for drops that a filter lets through until ctx ends or it returns false. hostOf names the host that has one of
// some addresses.
func (f *Drops) Watch(ctx context.Context, filter api.Filter, hostOf func(...netip.Addr) string, visit func(api.Drop) bool) error {
	drops, err := f.Join()
	if err != nil {
		return err
	}
	defer f.Leave(drops)
	for {
		select {
		case <-ctx.Done():
			return nil
		case drop := <-drops:
			drop.Host = hostOf(drop.Tuple.Source.Addr(), drop.Tuple.Destination.Addr())
			if filter.MatchDrop(drop) && !visit(drop) {
				return nil
			}
		}
	}
}

// Join begins to look. Call Leave.
func (f *Drops) Join() (chan api.Drop, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.closed {
		return nil, errStopping
	}
	if f.events == nil {
		events, err := f.data.Drops()
		if err != nil {
			return nil, err
		}
		f.events, f.watchers = events, map[chan api.Drop]bool{}
		f.data.WatchDrops(true)
		go f.run(events)
	}
	watcher := make(chan api.Drop, dropBuffer)
	f.watchers[watcher] = true
	return watcher, nil
}

// Leave ends to look.
func (f *Drops) Leave(watcher chan api.Drop) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.watchers, watcher)
	if len(f.watchers) == 0 && f.events != nil {
		f.data.WatchDrops(false)
		_ = f.events.Close()
		f.events = nil
	}
}

// Close lets nobody join any more.
func (f *Drops) Close() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.closed = true
}

func (f *Drops) run(events *datapath.Events[datapath.DropEvent]) {
	names := map[int]string{}
	events.Follow(f.failed, func(event datapath.DropEvent) {
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

func (f *Drops) hand(drop api.Drop) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for watcher := range f.watchers {
		select {
		case watcher <- drop:
		default:
		}
	}
}
