package datapath

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/model"
)

// begun is a moment by the clock that the programs read and by Go's, which reads the same one without entering the kernel.
var begun = sync.OnceValue(func() (b struct {
	at   model.Instant
	time time.Time
}) {
	for try := range 16 { // between the two readings a little passes, which is what Now is late
		at, now := monotonic(), time.Now()
		if late := at.Sub(b.at) - now.Sub(b.time); try == 0 || late > 0 {
			b.at, b.time = at, now
		}
	}
	return b
})

// Now is the time by the clock that the programs read, CLOCK_MONOTONIC, or a few microseconds before it; never after it.
func Now() model.Instant {
	b := begun()
	return b.at.Add(time.Since(b.time))
}

func monotonic() model.Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("CLOCK_MONOTONIC cannot be read: " + err.Error())
	}
	return model.Instant(ts.Nano())
}

// Running is for how long the machine is up, its sleep included (CLOCK_BOOTTIME): bans end
// by that clock.
func Running() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("CLOCK_BOOTTIME cannot be read: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
