// Package settings is `outbound`: the addresses that hosts share. It has no state.
package settings
