// Package settings is what `log` says: what the NAT log has, and where it goes. It has no state.
package settings
