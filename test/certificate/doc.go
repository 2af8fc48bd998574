// Package certificate makes certificates and their keys (X.509, ECDSA P-256) for tests. A Pair keeps no state; an Authority may be
// used concurrently.
package certificate
