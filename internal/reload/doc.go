// Package reload is how another configuration comes into force, and what people see of the one that is.
//
// What is in force is the daemon's, and so is the lock under which it changes. A Service keeps the last configurations in the
// store, and in a file of its own what comes back where a reload is to be confirmed and nobody does.
package reload
