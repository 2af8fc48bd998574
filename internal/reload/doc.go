// Package reload is how another configuration comes into force, and what people see of the one that is.
//
// A Service keeps no state: what is in force is the daemon's, and so is the lock under which it changes.
package reload
