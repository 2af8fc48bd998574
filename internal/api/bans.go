package api

import "fmt"

// mostSeconds is the longest that a ban may have an end: a hundred years.
const mostSeconds = 100 * 365 * 24 * 3600

func validBan(r BanRequest) error {
	if len(r.Prefixes) == 0 || !(r.Seconds >= 0 && r.Seconds <= mostSeconds) {
		return fmt.Errorf("want at least one prefix, and 0 to %g seconds", float64(mostSeconds))
	}
	return nil
}
