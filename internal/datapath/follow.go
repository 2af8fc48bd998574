package datapath

import (
	"errors"
	"os"
	"time"
)

// Pauses after an event that could not be read: the next may fail like it, and
// the one after that.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// Follow hands on the events until the stream is closed. What cannot be read is told, and the next is waited for.
func (e *Events[T]) Follow(failed func(error), heard func(T)) { follow(e.Next, failed, heard) }

func follow[T any](next func() (T, error), failed func(error), heard func(T)) {
	pause := firstPause
	for {
		event, err := next()
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil {
			failed(err)
			time.Sleep(pause)
			pause = min(2*pause, lastPause)
			continue
		}
		pause = firstPause
		heard(event)
	}
}
