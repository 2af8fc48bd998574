// Package netdev asks the kernel's generic netlink family "netdev" what an
// interface can do. It keeps no state.
package netdev
