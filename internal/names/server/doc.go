// Package server serves names on both sides: it makes the two name servers of a configuration, has them follow, and tells the
// data plane which names are lent, so that it answers for them what needs no daemon.
//
// A Service owns the servers, their sockets, the secrets of DNS cookies and the bucket "names" of the instance's file. Its
// methods may be called concurrently but for Prepare and what that returns, which are for one configuration at a time.
package server
