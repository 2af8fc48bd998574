// Package httperror makes errors of HTTP clients fit for logs and events: an address may
// have a secret in its query or path.
//
// It is pure: no state, so that any goroutine may call it.
package httperror
