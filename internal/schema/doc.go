// Package schema reads sections of a configuration file strictly: a key says what it takes, where it stands in memory and how
// the reference shows it, and a fault says its file, its line and what is wanted instead.
//
// It knows the types of values that several sections have, and what addresses they claim. Of sections it knows those keys alone
// that others ask or speak of.
package schema
