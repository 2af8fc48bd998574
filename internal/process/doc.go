// Package process runs the programs that a configuration names, so that nothing of them is
// left when they have ended.
//
// A program is an argument vector and is executed as such: no shell sees it. It runs in a
// process group of its own, in the folder /, with no environment but PATH and LC_ALL=C.
//
// The package keeps no state. A Group is its caller's; Exited may be waited for by anybody,
// and End is called once.
package process
