package lifecycle

import (
	"context"
	"sync"
)

// Workers work in the background for parts of the configuration in force that M has by their names, as functions of chains. One
// whose part stays as it is goes on over a reload. They can be prepared, run and stopped as a Service is.
type Workers[M ~map[string]W, W comparable] struct {
	Start func(ctx context.Context, w W) // has one work until ctx ends or End is called; who works goes on
	End   func(w W)                      // waits until it has ended, if it worked; it can be started again
	Close func(w W)                      // gives up what it has

	mutex   sync.Mutex // guards what follows
	current M
	running context.Context // nil before Run, and behind it
}

// Prepare has next make the workers of a configuration. It takes over those before that stay.
func (l *Workers[M, W]) Prepare(next func(before M) M) (M, Change) {
	before := l.Current()
	made := next(before)
	return made, Change{
		Settle: func() {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			l.giveUp(before, made)
			l.current = made
			l.start()
		},
		Discard: func() { l.giveUp(made, before) },
	}
}

// Current are those in force.
func (l *Workers[M, W]) Current() M {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.current
}

// Run has those in force work until ctx ends. What they have stays, for a reload that still goes on.
func (l *Workers[M, W]) Run(ctx context.Context) error {
	l.mutex.Lock()
	l.running = ctx
	l.start()
	l.mutex.Unlock()
	<-ctx.Done()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.running = nil
	for _, w := range l.current {
		l.End(w)
	}
	return nil
}

// Stop gives up those in force, when no reload goes on any more.
func (l *Workers[M, W]) Stop() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.giveUp(l.current, nil)
	l.current = nil
	return nil
}

// start is called under the lock.
func (l *Workers[M, W]) start() {
	if l.running == nil {
		return
	}
	for _, w := range l.current {
		l.Start(l.running, w)
	}
}

// giveUp ends and closes those that others do not have.
func (l *Workers[M, W]) giveUp(all, but M) {
	for name, w := range all {
		if but[name] != w {
			l.End(w)
			l.Close(w)
		}
	}
}
