package api

import (
	"log/slog"
	"net/http"
)

// audited logs who has changed something, or was refused it.
func audited(h http.Handler, logger *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			h.ServeHTTP(w, r)
			return
		}
		answer := &answered{w, http.StatusOK}
		h.ServeHTTP(answer, r)
		p, _ := r.Context().Value(peerKey{}).(peer)
		logger.Info("command", "path", r.URL.Path, "user", p.uid, "status", answer.status)
	})
}

// answered remembers the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

func (a *answered) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}
