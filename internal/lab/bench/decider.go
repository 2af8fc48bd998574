package bench

import "time"

// Queue says how first packets wait for a program that decides about them.
type Queue struct {
	Count  int  // of queues, each with a thread of its own; 0 is 1
	ByCPU  bool // packets go to the queue of the CPU that received them, else to that of their addresses
	Length int  // packets that may wait in one; 0 is the kernel's own limit
}

// Decider is a Device whose program decides about every new session.
type Decider interface {
	Decisions() (Decisions, error)
}

// Decisions is what a Decider's program has done so far.
type Decisions struct {
	Made       uint64
	QueueFull  uint64        // packets that the kernel dropped since their queue was full
	SocketFull uint64        // and since the program's socket was
	Waiting    uint64        // packets that have no verdict yet
	Overruns   uint64        // times that the program was told of the latter (ENOBUFS)
	Time       time.Duration // CPU time of the program, with the kernel's work in its calls
	Waited     time.Duration // of the program, for its CPU
}

// Since returns what was done since before.
func (d Decisions) Since(before Decisions) Decisions {
	return Decisions{
		Made: d.Made - before.Made, QueueFull: d.QueueFull - before.QueueFull, SocketFull: d.SocketFull - before.SocketFull, Waiting: d.Waiting,
		Overruns: d.Overruns - before.Overruns, Time: d.Time - before.Time, Waited: d.Waited - before.Waited,
	}
}
