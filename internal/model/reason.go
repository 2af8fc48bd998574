package model

import "strings"

// Reason says how the data plane ended a packet: "forwarded",
// "drop_no_reservation". The list has one definition, enum reason in
// bpf/include/reason.h; docs/reference/counters.md explains every entry.
type Reason string

// IsDrop reports whether the packet was dropped.
func (r Reason) IsDrop() bool { return strings.HasPrefix(string(r), "drop_") }
