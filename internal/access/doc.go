// Package access says who may ask the gateway what: the groups of the machine, as they were at the start or the last reload.
//
// A Service may be asked by several goroutines; one at a time prepares.
package access
