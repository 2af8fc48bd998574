// Package nftest runs chains in the kernel without a gateway around them, for the tests of functions.
//
// A bed has tables of its own in the kernel and is for one goroutine.
package nftest
