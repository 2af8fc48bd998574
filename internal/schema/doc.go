// Package schema reads sections of a configuration file strictly: a key says what it takes, where it stands in memory and how
// the reference shows it, and a fault says its file, its line and what is wanted instead.
//
// It knows the types of values that several sections have, what addresses they claim, and no section.
package schema
