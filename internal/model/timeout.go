package model

import "time"

// Timeout is a kind of session, as far as the time is concerned for which it may be idle. Its names are the kernel's.
type Timeout uint8

// Timeouts are how long sessions may be idle, each 0 or more; the kernel counts in ticks of 268 ms.
type Timeouts [TimeoutMax]time.Duration
