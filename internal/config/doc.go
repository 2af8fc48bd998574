// Package config reads the gateway's YAML file into a validated Config.
//
// Reading is strict. Every key, value and relation between values is checked,
// and every fault found is reported at once, each with its file and line. What
// Parse returns needs no further check that does not involve the host itself
// (whether an interface exists, which addresses it has).
//
// The keys, their types, defaults and ranges are declared once, in schema.go;
// docs/reference/configuration.md shows the same table and a test compares the
// two.
//
// The package keeps no state. A Config is immutable by agreement: nobody
// changes one after Parse returned it, so it may be shared between goroutines.
// Each service of the daemon takes its own part of it in Prepare; what is pure, such as
// the pool, the engine of chains and the data plane, has options of its own.
package config
