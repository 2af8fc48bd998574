// Package ask has the programs asked that functions "ask" name: it reads the frames that these hold, hands a program what it
// is to see of a flow, and sends the frames again when it has said what becomes of the flow.
//
// A table is the core, without clock and I/O of its own. A Service runs those of the configuration in force; its methods may
// be called concurrently.
package ask
