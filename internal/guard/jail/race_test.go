//go:build race

package jail

// The race detector has the regexp package's pool forget what it keeps, at random.
func init() { forgetful = true }
