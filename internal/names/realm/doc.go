// Package realm is what a configuration says of names: its zones with their files, the keys that sign, and the registry of
// hosts and services, which fit each other.
//
// A Realm is made once and never changes, but for the hosts that come and go one by one beside it. It is safe for concurrent use.
package realm
