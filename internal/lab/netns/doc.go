// Package netns builds networks out of Linux network namespaces, for the demo,
// the tests and the benchmarks: a gateway with private hosts on one side, and a
// router, clients, servers and a resolver on the other.
//
// A Lab owns namespaces, the links in them, and the processes started in them.
// Its namespaces are the files /run/netns/rg-PREFIX-RANDOM-NAME, so that
// "ip netns exec" works for a person who looks around; the lab itself needs no
// program beside this one. Close kills the processes and removes the rest.
// Whoever dies without Close leaves a record in /run/realmgate-lab whose lock
// the kernel has released: Sweep, which every New begins with, finds it and
// removes what it names. The first lab also makes /run/netns a shared mount, as
// the first "ip netns add" would, and leaves it.
//
// Network namespaces belong to threads. Everything that must run inside one
// (Do, sockets, starting processes) runs on a thread of its own, which ends
// with it and never returns to the Go scheduler. Processes keep the mount
// namespace of this process: they see the same /sys/fs/bpf, and the /sys of the
// namespace they came from.
//
// All methods may be called from several goroutines. The package needs root.
package netns
