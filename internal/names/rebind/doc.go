// Package rebind keeps answers from outside from leading into a private network.
//
// DNS rebinding: a page of an attacker's is given the address of a machine inside
// for its own name, and the browser that shows it then lets it talk to that
// machine. A Filter takes such addresses out of answers, as unbound's
// private-address and dnsmasq's stop-dns-rebind do, but for the names that it is
// told of (private-domain, rebind-domain-ok).
//
// A Filter is immutable and safe for concurrent use.
package rebind
