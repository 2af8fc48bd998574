// Package registry says who can be reached by which name: hosts, their services
// and the zones they live in. It is the one place that knows what is open from
// outside: a name opens the ports of its service, and a host's own name without
// one opens nothing.
//
// A Registry is an immutable snapshot: New copies and checks everything, and a
// reload makes a new one. Any number of goroutines may read it at once, and
// what they get must not be changed. Hosts that come and go one by one are in a
// Registered beside it, which is what changes.
package registry
