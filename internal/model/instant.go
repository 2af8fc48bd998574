package model

import "time"

// Instant is a point on the kernel's CLOCK_MONOTONIC, in nanoseconds since
// boot. The data plane (bpf_ktime_get_ns) and the daemon share this clock, so
// an expiry means the same in both and survives a restart of the daemon.
type Instant int64

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from other to i.
func (i Instant) Sub(other Instant) time.Duration { return time.Duration(i - other) }

// Before reports whether i comes before other.
func (i Instant) Before(other Instant) bool { return i < other }
