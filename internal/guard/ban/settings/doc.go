// Package settings is what `ignoreip` and `bans` say: who is never banned, and how long bans last. It has no state.
package settings
