// Package ruleset says what a configuration's protection and chains are for the engine (internal/nf): which rules find a
// chain, what its functions are, under which numbers they are counted, and what dnat takes of the outbound addresses.
//
// It keeps no state. Addresses of lists, of geofences and of backends are given to it.
package ruleset
