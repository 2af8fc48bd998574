package natlog

import (
	"time"

	"golang.org/x/sys/unix"
)

// clock says what time it is, and whether anybody has set it by a better one.
type clock struct {
	looked       time.Time
	synchronised bool
}

const (
	lookEvery      = time.Second
	unsynchronised = 5 // TIME_ERROR of linux/timex.h
)

// now asks the kernel once a second.
func (c *clock) now(now time.Time) bool {
	if now.Sub(c.looked) >= lookEvery || now.Before(c.looked) {
		state, err := unix.Adjtimex(&unix.Timex{})
		c.looked, c.synchronised = now, err == nil && state != unsynchronised
	}
	return c.synchronised
}
