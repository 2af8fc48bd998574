// Package flow says what flows through the gateway: which sessions there are, and, to who watches, what begins, changes, ends
// and is dropped, with names in the place of addresses where one is known.
//
// The methods of a Service may be called concurrently. Who watches keeps nobody waiting: what comes too fast for one is lost for
// that one, and counted.
package flow
