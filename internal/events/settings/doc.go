// Package settings is what `events` says: where events go. It has no state.
package settings
