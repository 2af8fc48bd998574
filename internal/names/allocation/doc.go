// Package allocation answers names with pool addresses: it asks the policy, has the pool bind a service to an
// address and reserve it for the asker, puts both into the data plane, and only then lets the name server answer (I6).
//
// # State and concurrency
//
// An Allocator owns the pool, the admission and the holdings, all under one lock, and a file that says which service
// has which address. Its methods may be called concurrently. No lock is held while the disk is waited for.
//
// # Who knows what
//
// The data plane is the authority on claims, sessions and their times: the pool asks it (Plane.BindingUse) before it
// moves a binding. The file is the authority after a reboot; it is written before an address that moved is answered.
package allocation
