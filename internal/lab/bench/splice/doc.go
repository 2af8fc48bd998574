// Package splice is the proxy that the bench compares with: what anybody would write in an afternoon. It reads the name
// that a client of TLS asks for as the gateway does, connects to the host, and copies both ways until both have ended.
//
// It keeps nothing between connections. Serve may be called for several listeners at a time.
package splice
