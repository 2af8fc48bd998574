// Package systemd tells systemd how the gateway is, as sd_notify(3) says: that it is ready, alive, reloading or stopping, and
// how it fares, in a line. Where nothing listens it says nothing.
//
// A Service may be used by several goroutines: its messages are datagrams, sent whole.
package systemd
