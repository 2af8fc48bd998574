// Package netdev asks the kernel's generic netlink family "netdev" what an
// interface can do and which threads receive on it, sets offloads, and tells in
// which network namespace a thread is. It keeps no state.
package netdev
