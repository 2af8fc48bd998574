// Package access says who may ask the gateway what, and serves the control API where the configuration wants it beside the
// socket. By the socket ask the groups of the machine, as they were at the start or the last reload; over TCP who has a token, or
// a certificate.
//
// A Service may be asked by several goroutines; one at a time prepares.
package access
