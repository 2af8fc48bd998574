package capture

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lifecycle"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

// Data copies and samples packets. *datapath.Datapath is one.
type Data interface {
	Watch(*datapath.Watch) error
	Unwatch(*datapath.Watch)
	Captures() (*datapath.Events[datapath.Capture], error)
	StopCaptures() error
	// WatchFunctions has packets of functions copied, by number, so many octets of each.
	WatchFunctions(octets map[uint32]uint32) error
	Counts() ([]datapath.Count, error)
}

// Functions are the chains in force, and the numbers under which the data plane counts their functions.
type Functions struct {
	Chains []settings.Chain
	Number func(chain, function string) uint32
}

// Service hands copies of packets to everyone who captures. It reads, and the data
// plane copies, only while somebody does. Call New.
type Service struct {
	functions func() Functions // in force
	drops     *Drops
	log       *slog.Logger
	data      Data // from Open on

	mutex    sync.Mutex // guards what follows
	captures map[*capture]bool
	events   *datapath.Events[datapath.Capture]
	closed   bool
}

// New makes a service that nobody captures with.
func New(functions func() Functions, drops *Drops, log *slog.Logger) *Service {
	return &Service{functions: functions, drops: drops, log: log}
}

// Open says who copies packets, before Capture.
func (f *Service) Open(data Data) { f.data = data }

// Prepare has captures go on with the functions of another configuration.
func (f *Service) Prepare(next Functions) lifecycle.Change {
	return lifecycle.Change{Settle: func() {
		if err := f.reconfigure(next); err != nil {
			f.log.Warn("capture not updated", "error", err)
		}
	}}
}

// join begins a capture.
func (f *Service) join(request api.CaptureRequest) (*capture, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.closed {
		return nil, errStopping
	}
	functions := f.functions()
	if err := canCapture(functions.Chains, request); err != nil {
		return nil, err
	}
	if f.events == nil {
		events, err := f.data.Captures()
		if err != nil {
			return nil, err
		}
		f.events, f.captures = events, map[*capture]bool{}
		booted := time.Now().Add(-time.Duration(datapath.Now())) // once, so that intervals are exact
		names := interfaceNames{}
		go events.Follow(func(err error) { f.log.Warn("captured packet lost", "error", err) },
			func(event datapath.Capture) { f.hand(event, names.of(event.Interface), booted) })
	}
	c := newCapture(request)
	f.captures[c] = true
	if err := errors.Join(c.look(f.data, functions), f.watch()); err != nil {
		return nil, errors.Join(err, f.remove(c))
	}
	return c, nil
}

// leave ends a capture.
func (f *Service) leave(c *capture) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err := f.remove(c); err != nil {
		f.log.Warn("capture close failed", "error", err)
	}
}

func (f *Service) remove(c *capture) error {
	delete(f.captures, c)
	if len(f.captures) > 0 {
		return f.watch()
	}
	err := errors.Join(f.data.StopCaptures(), f.events.Close())
	f.events = nil
	return err
}

// reconfigure goes on with other functions.
func (f *Service) reconfigure(next Functions) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if len(f.captures) == 0 {
		return nil
	}
	var errs []error
	for c := range f.captures {
		errs = append(errs, c.look(f.data, next))
	}
	return errors.Join(append(errs, f.watch())...)
}

// Close lets nobody begin any more.
func (f *Service) Close() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.closed = true
}

// watch tells the data plane what all captures together want.
func (f *Service) watch() error {
	snaps := map[uint32]uint32{}
	for c := range f.captures {
		for number := range c.functions {
			snaps[number] = max(snaps[number], uint32(c.request.Snap))
		}
	}
	return f.data.WatchFunctions(snaps)
}

// hand gives a packet to those who want it. booted is when the programs' clock began.
func (f *Service) hand(event datapath.Capture, name string, booted time.Time) {
	p := api.Packet{
		Interface: name, Time: booted.Add(time.Duration(event.At)), Direction: event.Direction.String(), Tuple: event.Tuple,
		Length: event.Length, Data: event.Data,
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for c := range f.captures {
		c.put(event.Function, p)
	}
}

func (f *Service) take(c *capture) ([]api.Packet, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return c.take(f.data)
}

// Capture implements api.CaptureCommands.
func (f *Service) Capture(ctx context.Context, request api.CaptureRequest, started func(), visit func([]api.Packet) bool) error {
	c, err := f.join(request)
	if err != nil {
		return err
	}
	defer f.leave(c)
	started()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.ready:
			packets, err := f.take(c)
			if err != nil || !visit(packets) {
				return err
			}
		}
	}
}
