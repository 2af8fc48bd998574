// Package jump is the function "jump": flows go on in another chain.
//
// It has no state in Go and may be used concurrently.
package jump
