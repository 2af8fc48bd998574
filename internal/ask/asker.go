package ask

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	nfask "github.com/realmgate/realmgate/internal/nf/ask"
)

const (
	beatEvery   = time.Second
	beatLasts   = 5 * time.Second // longer than a daemon takes to start again
	expireEvery = 5 * time.Millisecond
	warnEvery   = 10 * time.Second
)

// Asker is a function "ask" and what waits for its program. One that a configuration leaves as it is goes on with what it has.
type Asker struct {
	Line   *nfask.Line
	name   string // of the function
	config nfask.Settings
	log    *slog.Logger
	tell   func(event.Event)

	mutex   sync.Mutex // guards what follows
	table   *table
	there   bool // the program
	err     error
	program *program

	warned atomic.Int64    // when something was last told, ns
	daemon context.Context // ends with it, and not with the function
	stop   context.CancelFunc
	ended  sync.WaitGroup
}

func newAsker(name string, settings nfask.Settings) *Asker {
	return &Asker{Line: nfask.NewLine(settings.First == nfask.Bytes), name: name, config: settings}
}

// start has the program asked until ctx ends, or end is called, unless somebody does.
func (a *Asker) start(ctx context.Context, o *Options) {
	if a.stop != nil {
		return
	}
	own, stop := context.WithCancel(ctx)
	a.stop, a.log, a.tell = stop, o.Log, o.Events.Emit
	a.daemon = ctx
	a.ended.Go(func() {
		select {
		case <-a.Line.Opened():
			a.run(own, o)
		case <-own.Done():
		}
	})
}

func (a *Asker) end() {
	if a.stop != nil {
		a.stop()
		a.ended.Wait()
		a.stop = nil
		a.leave()
	}
}

// leave has a program that is away be missed no longer where a reload has taken its function away.
func (a *Asker) leave() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.err != nil && a.daemon.Err() == nil {
		a.tell(event.ProgramRecovered{Function: a.name, Socket: a.config.Socket})
		a.err = nil
	}
}

func (a *Asker) run(ctx context.Context, o *Options) {
	frames, err := a.Line.Frames()
	if err != nil {
		a.warn(err)
		return
	}
	a.program = newProgram(a.config.Socket)
	a.program.connected, a.program.lost, a.program.heard = a.connected, a.lost, a.heard
	table := newTable(a.config.First == nfask.Bytes, a.config.Timeout, a.Line, o.Plane(), a.question)
	table.again = o.again
	a.mutex.Lock()
	a.table = table
	a.mutex.Unlock()
	var running sync.WaitGroup
	running.Go(func() { a.program.run(ctx) })
	running.Go(func() { a.hear(frames) })
	a.beat(ctx)
	_ = frames.Close()
	running.Wait()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.warn(a.Line.Beat(0))
}

// hear takes frames in until they are closed.
func (a *Asker) hear(frames *nfask.Frames) {
	for {
		held, err := frames.Next()
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil {
			a.warn(err)
			continue
		}
		a.mutex.Lock()
		err = a.table.hear(held, datapath.Now())
		a.mutex.Unlock()
		a.warn(err)
	}
}

// question has one written to the program. Under the lock.
func (a *Asker) question(f *flow) {
	a.program.put(Question{
		ID: f.id, Function: a.name, First: a.config.First.String(), Direction: f.of.Direction.String(), Protocol: f.of.Protocol.String(),
		Source: f.of.Source, Destination: f.of.Destination, Data: f.data(a.config.First == nfask.Bytes),
	})
}

func (a *Asker) heard(answer Answer) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.warn(a.table.answer(answer, datapath.Now()))
	return nil
}

func (a *Asker) connected() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.err != nil {
		a.tell(event.ProgramRecovered{Function: a.name, Socket: a.config.Socket})
	}
	a.there, a.err = true, nil
	a.warn(a.Line.Beat(datapath.Now().Add(beatLasts)))
	a.table.unanswered()
	a.log.Info("program is asked", "function", a.name, "socket", a.config.Socket)
}

// lost has frames held as long as flows wait anyway: a program that begins anew is back by then, or its function fails.
func (a *Asker) lost(err error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.there {
		a.warn(a.Line.Beat(datapath.Now().Add(a.config.Timeout)))
	}
	if a.there || a.err == nil {
		a.log.Warn("program away", "function", a.name, "socket", a.config.Socket, "hint", "start it: until then flows go by the function's key fail", "error", err)
		a.tell(event.ProgramFailed{Function: a.name, Socket: a.config.Socket, Error: event.Text(err)})
	}
	a.there, a.err = false, err
}

// beat tells the programs of the data plane that somebody asks, and fails what waits too long.
func (a *Asker) beat(ctx context.Context) {
	expire, beat := time.NewTicker(expireEvery), time.NewTicker(beatEvery)
	defer expire.Stop()
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			a.mutex.Lock()
			if a.there {
				a.warn(a.Line.Beat(datapath.Now().Add(beatLasts)))
			}
			a.mutex.Unlock()
		case <-expire.C:
			a.mutex.Lock()
			err := a.table.expire(datapath.Now())
			a.mutex.Unlock()
			a.warn(err)
		}
	}
}

// warn logs one error in a while: what fails for a flow fails for the next one, too.
func (a *Asker) warn(err error) {
	if err == nil {
		return
	}
	now := time.Now().UnixNano()
	if last := a.warned.Load(); now-last >= int64(warnEvery) && a.warned.CompareAndSwap(last, now) {
		a.log.Warn("flow not asked about", "function", a.name, "error", err)
	}
}

// report is what has become of flows.
func (a *Asker) report() api.Asked {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	r := api.Asked{Function: a.name}
	if t := a.table; t != nil {
		r.Waiting, r.Asked, r.Failed, r.Full = t.waits, t.counts.Asked, t.counts.Failed, t.counts.Full
		unheard, err := a.Line.Unheard()
		a.warn(err)
		r.Full += unheard
	}
	return r
}

// away says why nobody answers; nil where somebody does, or it is not known yet.
func (a *Asker) away() error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.there {
		return nil
	}
	return a.err
}
