package model

import "strings"

//go:generate go run -C ../../tools ./constants -package model -o ../internal/model/kernel.go -values MAX_OUTBOUND=MaxOutbound,MSS_AUTO=mssAuto,MSS_OFF=mssOff -names reason:REASON_:Reason -numbers timeout:TIMEOUT_:Timeout ../bpf/include/reason.h ../bpf/conntrack/timeout.h ../bpf/nat/slot_types.h ../bpf/include/types.h

// Reason says how the data plane ended a packet: "forwarded",
// "drop_no_reservation". The list has one definition, enum reason in
// bpf/include/reason.h, of which kernel.go is made; docs/reference/counters.md
// explains every entry.
type Reason string

// IsDrop reports whether the packet was dropped.
func (r Reason) IsDrop() bool { return strings.HasPrefix(string(r), "drop_") }
