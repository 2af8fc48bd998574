package api

import (
	"fmt"
	"net/http"
	"net/url"
)

// mostSeconds is the longest that a ban may have an end: a hundred years.
const mostSeconds = 100 * 365 * 24 * 3600

func (h handler) addBans(w http.ResponseWriter, r *http.Request, query url.Values) error {
	return change(w, r, query, validBan, h.gateway.AddBans)
}

func (h handler) removeBans(w http.ResponseWriter, r *http.Request, query url.Values) error {
	return change(w, r, query, validBan, h.gateway.RemoveBans)
}

func validBan(r BanRequest) error {
	if len(r.Prefixes) == 0 || !(r.Seconds >= 0 && r.Seconds <= mostSeconds) {
		return fmt.Errorf("want at least one prefix, and 0 to %g seconds", float64(mostSeconds))
	}
	return nil
}
