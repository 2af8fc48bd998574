package datapath

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/model"
)

// Now reads the clock that the programs read, CLOCK_MONOTONIC.
func Now() model.Instant {
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
