// Package settings is `realm` and `hosts`: what is named. It has no state.
package settings
