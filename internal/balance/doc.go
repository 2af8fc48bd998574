// Package balance asks the backends of functions "multipath" whether they are up, and lets new flows go by that.
//
// A Backends belongs to one function; one that a configuration leaves as it is goes on with what it knows. A Service asks
// the backends of the configuration in force. Its methods may be called concurrently.
package balance
