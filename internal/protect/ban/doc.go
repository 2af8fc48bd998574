// Package ban knows which remote addresses and prefixes are banned, and until when. It
// has no clock and no table of its own.
package ban
