// Package bugreport puts together what somebody needs who looks for a fault from afar: how the gateway and its machine are,
// without secrets, in one file. It asks the daemon as far as that answers, and the kernel for the rest.
//
// It keeps no state. Parts are gathered at the same time, each for a bounded time and of a bounded size.
package bugreport
