package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// ForUs lets through what is asked of one of the names, in lower case and without a port, and refuses what a page of another
// site asks for: its name may lead here (DNS rebinding), and its forms may be sent here.
func ForUs(h http.Handler, names []string) http.Handler {
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		Refuse(w, Fail(http.StatusForbidden, errors.New("a page of another site asks for this")))
	}))
	h = cross.Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := strings.TrimSuffix(strings.ToLower(hostOf(r.Host)), ".")
		if !slices.Contains(names, host) {
			Refuse(w, Fail(http.StatusMisdirectedRequest, WithRemedy(fmt.Errorf("%q is no name of this API", host), "add it to api.names")))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// hostOf is a Host header without its port.
func hostOf(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	return strings.Trim(host, "[]")
}
