// Package settings is what `dynamic` says: hosts that come and go by themselves. It has no state.
package settings
