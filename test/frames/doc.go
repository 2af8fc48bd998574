// Package frames makes random and damaged frames for tests, reads what ICMP errors quote,
// and tells in words where two frames differ. It keeps no state.
package frames
