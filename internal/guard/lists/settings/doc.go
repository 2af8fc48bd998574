// Package settings is what `lists` says: lists of addresses that others publish. It has no state.
package settings
