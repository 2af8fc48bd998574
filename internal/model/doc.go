// Package model holds the words every other package speaks: names, protocols,
// tuples, instants and reasons. It keeps no state and imports only the standard
// library; all its types are values that are safe to copy and share.
package model
