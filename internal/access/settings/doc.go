// Package settings is what `api` says: where the control API is served beside its socket, and who has which role there. It
// has no state.
package settings
