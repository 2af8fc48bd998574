// Package mounts finds the file systems that outlive this process. `ip netns
// exec` gives each command a mount namespace of its own, and what is mounted and
// pinned in it dies with it.
//
// The package keeps no state; everything may be called from several goroutines.
package mounts
