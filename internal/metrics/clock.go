package metrics

import (
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/metrics/metric"
)

// measureClock says whether the kernel's clock is synchronised, where this process may ask (adjtimex(2)).
func measureClock(p metric.Page) {
	var t unix.Timex // no modes: it is only read
	if state, err := unix.Adjtimex(&t); err == nil {
		metric.PutIf(p, metric.ClockSynchronised, state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0)
	}
}
