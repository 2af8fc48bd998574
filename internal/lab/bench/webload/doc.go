// Package webload is both ends of connections that ask for a site by name: clients that say a ClientHello of TLS, servers
// that answer it, and a flood of SYNs beside them. What of TLS comes after the hello is left out, as it costs both ends
// the same whatever is between them, and more than all of that.
//
// Each end is one thread with an epoll of its own: goroutines with a connection each would measure Go's scheduler.
//
// A Client may be used by one goroutine at a time; Servers and Floods run beside it.
package webload
