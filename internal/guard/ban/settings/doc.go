// Package settings is what `never_ban` and `bans`: who is never banned, and how long bans last. It has no state.
package settings
