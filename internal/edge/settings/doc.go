// Package settings is what `edges` says: how hosts of networks behind other edges are reached by name, and who may. It has no
// state.
package settings
