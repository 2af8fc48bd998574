// Package geo knows where addresses are: their country, their continent and the
// autonomous system that announces them; and it judges addresses by that.
//
// A Builder reads what others publish and makes a Table, which does not change and may
// be asked from many goroutines. A Policy does not change either. Table.Resolve turns
// both into the ranges that are denied, which is what a data plane can look up.
package geo
