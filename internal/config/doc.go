// Package config reads the gateway's YAML file, and those of the folder beside it, into a validated Config.
//
// Reading is strict. Every key, value and relation between values is checked,
// and every fault found is reported at once, each with its file and line. What
// Parse returns needs no further check that does not involve the host itself
// (whether an interface exists, which addresses it has).
//
// The sections are in the packages settings of the rooms that they are for: keys,
// types, defaults and ranges are declared there, once. The list of them, in
// config.go, is all that config knows; docs/reference/configuration.md shows the
// same table and a test compares the two. What edits the functions of a chain in
// the text of a file is here, too.
//
// The package keeps no state. A Config is immutable by agreement: nobody
// changes one after Parse returned it, so it may be shared between goroutines.
// Each service of the daemon takes its own part of it in Prepare; what is pure, such as
// the pool, the engine of chains and the data plane, has options of its own.
package config
