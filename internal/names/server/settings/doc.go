// Package settings is `dns`: where the name servers listen, and whom they ask and believe. It has no state.
package settings
