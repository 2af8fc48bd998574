package metrics

import "golang.org/x/sys/unix"

// isSynchronised reports whether the kernel's clock is, as adjtimex(2) says it.
func isSynchronised() bool {
	var t unix.Timex // no modes: it is only read
	state, err := unix.Adjtimex(&t)
	return err == nil && state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0
}
