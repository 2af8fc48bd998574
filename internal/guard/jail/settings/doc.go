// Package settings is what `jails` says: logs, and what in them has an address banned. It has no state.
package settings
