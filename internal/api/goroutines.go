package api

import (
	"net/http"
	"net/url"
	"runtime/pprof"
)

// goroutines answers with their stacks, those that are alike together: where a fault is sought from afar.
func (h handler) goroutines(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	if err := wantNone(query); err != nil {
		return err
	}
	limitWrite(w)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_ = pprof.Lookup("goroutine").WriteTo(w, 1) // who asks sees an answer that breaks off
	return nil
}
