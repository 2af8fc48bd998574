// Package settings is what `chains`, `sets`, and the lists and ignored ports of `protection` say: what judges flows. It has no state.
package settings
