// Package object is a function of the user's own: a compiled object that the gateway loads.
//
// It has no state in Go and may be used concurrently.
package object
