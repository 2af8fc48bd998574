// Package stream tells whoever listens what happens at the gateway, by topics, as it happens. What was told lately is kept in a
// ring, so that who was away goes on where they were; who is slow loses what has left the ring, is told so, and keeps nobody
// waiting.
//
// A Hub may be used by several goroutines.
package stream
