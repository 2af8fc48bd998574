// Package chains is what people see of chains, and what they change in them by command. A change edits what is in force, not
// the file; SaveChains writes it there.
//
// A Service keeps no state: what is in force is the daemon's, and so is the lock under which it changes.
package chains
