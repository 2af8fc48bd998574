// Package machine is what the machine itself has: addresses on its interfaces, sockets that wait for strangers, next hops in
// its routing tables, and which addresses its private interfaces lead to.
//
// A Machine remembers the last look at each. Its methods may be called concurrently; none waits for a look of another but
// NextHops.
package machine
