// Package realm is what a configuration says of names: its zones with their files, the keys that sign, and the registry of
// hosts and services, which fit each other.
//
// A Realm is made once and never changes, so it is safe for concurrent use.
package realm
