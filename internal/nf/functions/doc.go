// Package functions is the list of network functions that a chain may have: a line for each. It has no state.
package functions
