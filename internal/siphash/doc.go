// Package siphash is SipHash-2-4 (Aumasson, Bernstein 2012), a keyed hash of 64
// bits that nobody without the key can foresee: of server cookies (RFC 9018), and
// of names in the data plane. bpf/include/siphash.h is the same for the programs.
package siphash
