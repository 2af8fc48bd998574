// Package nftest runs chains in the kernel without a gateway around them, for the tests of functions, and reads their sections.
//
// A bed has tables of its own in the kernel and is for one goroutine.
package nftest
