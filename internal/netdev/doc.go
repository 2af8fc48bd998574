// Package netdev asks the kernel's generic netlink family "netdev" what an
// interface can do and which threads receive on it, and sets offloads. It keeps no state.
package netdev
