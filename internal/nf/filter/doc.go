// Package filter is the function "filter": it drops flows by their addresses, protocol and ports.
//
// It has no state in Go and may be used concurrently.
package filter
