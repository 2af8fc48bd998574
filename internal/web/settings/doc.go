// Package settings is `web`: the addresses at which names are read from connections. It has no state.
package settings
