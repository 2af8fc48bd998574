// Package settings is what `chains`, `sets` and the lists of `protection`. It has no state.
package settings
