// Package link keeps one TLS 1.3 connection to each configured edge, however many are dialled: it dials, accepts, verifies who is
// there, exchanges hellos, matches answers to what was asked, and says when a link comes, goes, or carries larger packets.
//
// It knows no kernel and no policy: a Handler does. Links may be used concurrently; what the Handler is told of one peer comes one
// call after the other.
package link
