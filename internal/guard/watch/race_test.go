//go:build race

package watch

// The race detector has the regexp package's pool forget what it keeps, at random.
func init() { forgetful = true }
