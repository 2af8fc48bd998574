// Package events tells files, commands and web servers what happens to the gateway, a JSON
// object for each event.
//
// # Nobody waits for a sink
//
// Hub.Emit puts an event into a bounded queue for each sink and returns. What finds a queue
// full is lost for that sink and counted, and the next event that gets through says how many
// were lost before it. Each sink has a goroutine of its own that takes from its queue; what
// an outlet refuses stays in the queue and is offered again later.
//
// # Layers
//
// Event, line and queue are pure. A sink joins a queue and an outlet, which does the input
// and output: file, command or webhook. Hub holds the sinks of the configuration in force.
//
// # Concurrency
//
// A Hub's methods may be called concurrently. Its lock is held for no input or output.
package events
