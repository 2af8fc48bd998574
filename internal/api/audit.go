package api

import (
	"log/slog"
	"net/http"
)

// audited logs who has changed something, or has a role and was refused it. Who has none cannot fill the log.
func audited(h http.Handler, access func() Access, logger *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		role := access().roleOf(r.Context())
		if r.Method == http.MethodGet || r.Method == http.MethodHead || role == NoRole {
			h.ServeHTTP(w, r)
			return
		}
		answer := &answered{w, http.StatusOK}
		h.ServeHTTP(answer, r)
		p, _ := r.Context().Value(peerKey{}).(peer) // who has a role is known
		logger.Info("command", "request", r.Pattern, "user", p.uid, "status", answer.status)
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

// Unwrap is for http.ResponseController.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }
