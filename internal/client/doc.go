// Package client talks to a running gateway over its control socket. A Client
// keeps no state but its address and may be used by several goroutines. The
// types of the API are repeated here so that commands need no other package.
package client
