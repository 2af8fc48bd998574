package capture

import (
	"context"
	"errors"
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
	watchers map[any]func(dropped) // by who watches; none waits
	watch    *datapath.Watch       // nil: nobody looks
	closed   bool
}

// dropped is a packet that was dropped, with what only captures have of it.
type dropped struct {
	api.Drop
	frame  []byte // its beginning
	missed uint64 // how many were dropped since the one before, and not told of
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
	drops := make(chan api.Drop, dropBuffer)
	return drops, f.join(drops, func(d dropped) {
		select {
		case drops <- d.Drop:
		default:
		}
	})
}

// Leave ends to look.
func (f *Drops) Leave(drops chan api.Drop) { f.leave(drops) }

// join has somebody hear of drops, who must not wait.
func (f *Drops) join(watcher any, hear func(dropped)) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.closed {
		return errStopping
	}
	if f.watch == nil {
		watch := &datapath.Watch{Drop: f.heard(), Failed: f.failed}
		if err := f.data.Watch(watch); err != nil {
			return err
		}
		f.watch, f.watchers = watch, map[any]func(dropped){}
	}
	f.watchers[watcher] = hear
	return nil
}

func (f *Drops) leave(watcher any) {
	if last := f.remove(watcher); last != nil {
		f.data.Unwatch(last) // which waits for hand
	}
}

// remove returns the watch when nobody looks any more.
func (f *Drops) remove(watcher any) *datapath.Watch {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.watchers, watcher)
	if len(f.watchers) > 0 {
		return nil
	}
	last := f.watch
	f.watch = nil
	return last
}

// Close lets nobody join any more.
func (f *Drops) Close() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.closed = true
}

// heard is what hears of each drop.
func (f *Drops) heard() func(datapath.DropEvent) {
	names, missed := interfaceNames{}, map[int]uint64{} // by CPU: before its last event
	return func(event datapath.DropEvent) {
		before, known := missed[event.CPU]
		if !known {
			before = event.Missed // what was long ago
		}
		missed[event.CPU] = event.Missed
		ago := datapath.Now().Sub(event.At)
		f.hand(dropped{api.Drop{
			Time: time.Now().Add(-ago), Reason: event.Reason, Side: event.Side, Interface: names.of(event.Interface),
			Tuple: event.Tuple, Length: event.Length,
		}, event.Frame, event.Missed - before})
	}
}

func (f *Drops) hand(d dropped) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, hear := range f.watchers {
		hear(d)
	}
}
