// Package event has what the gateway tells outside, a type for each: data alone, without
// state, safe to use by many at once. docs/reference/events.md explains them, package events
// takes them to sinks.
package event
