// Package settings is what the data plane has: `interfaces`, and `timeouts`, `limits`, `capacity`, `ipv6` and `mss` of its tables. It has no state.
package settings
