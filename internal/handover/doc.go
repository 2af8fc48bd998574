// Package handover has the next version of the program take over from the one that runs, in its process: the gateway stops,
// leaves its data plane at work, and executes the program that is now where its own was. Whoever started it sees the same
// process, and systemd restarts nothing.
//
// A Service may be used by several goroutines; Continue is called once, when all else has stopped.
package handover
