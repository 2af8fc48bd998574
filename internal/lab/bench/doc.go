// Package bench is the measuring lab: it puts devices under test between the two
// interfaces of a tester (bench/trafficgen), side by side, and lets each have its
// turn over and over, so that whatever else the machine does hits all alike.
//
// Here are the words: Device, Setup, Rig, Bed, Report. Methods and statistics are
// in bench/method, scenarios in bench/scenario, a file each, devices in bench/dut,
// a file each, and what is written in bench/report.
//
// A Bench owns a lab, the settings of the machine that it changed, and a lock: one
// measurement runs at a time. Close puts everything back; what a killed one left
// is put back by the next. It is used by one goroutine.
package bench
