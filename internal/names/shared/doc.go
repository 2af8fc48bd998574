// Package shared is about addresses that are of the pool and outbound at once: services get ports of them, never the whole,
// and hosts inside get the other ports for their mappings.
//
// Addresses is what a configuration says, and never changes. Live asks data plane, pool and machine, and keeps no state.
package shared
