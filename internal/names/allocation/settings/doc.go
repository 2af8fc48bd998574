// Package settings is `pool`: which addresses are lent, and to whom. It has no state.
package settings
