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
	Overruns   uint64        // times that the program was told of the latter (ENOBUFS)
	Time       time.Duration // CPU time of the program, with the kernel's work in its calls
}
