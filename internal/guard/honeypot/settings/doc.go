// Package settings is what `protection.honeypot` says: ports that nobody has anything to do at. It has no state.
package settings
