package jail

import "time"

// Clock is what a jail knows of time. It asks After only when it has nothing to read, and
// when a command begins.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// SystemClock is the machine's.
func SystemClock() Clock { return Clock{time.Now, time.After} }
