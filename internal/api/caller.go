package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
)

// Caller is who asks.
type Caller struct {
	Role Role
	Kind string          // how it is known: user, token or certificate
	Name string          // which of them
	May  context.Context // ends when it may ask no more; nil: it may for ever
}

func (c Caller) String() string { return c.Kind + " " + c.Name }

// Asking is who asks.
type Asking struct {
	Role Role   `json:"role"`
	Kind string `json:"kind"` // how it is known: user, token or certificate
	Name string `json:"name"` // of a user its number
}

func (h handler) caller(w http.ResponseWriter, r *http.Request, query url.Values) error {
	if err := wantNone(query); err != nil {
		return err
	}
	c := callerOf(r.Context())
	return reply(w, http.StatusOK, Asking{c.Role, c.Kind, c.Name})
}

// Identify says who asks. An error is why that is not known, with an HTTP status if it is a failure.
type Identify func(*http.Request) (Caller, error)

// byPeer says it by the kernel's word for the other end of a Unix socket. Whom it does not know has no role.
func byPeer(access func() Access) Identify {
	return func(r *http.Request) (Caller, error) {
		p, known := r.Context().Value(peerKey{}).(peer)
		if !known {
			return Caller{}, nil
		}
		return Caller{Role: access().of(p), Kind: "user", Name: strconv.FormatUint(uint64(p.uid), 10)}, nil
	}
}

type callerKey struct{}

// callerOf is who asks.
func callerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

var errNoMore = errors.New("the caller may ask no more")

// identified has h know who asks, and ends what is asked when they may no more. Who has changed something, or has a role and was
// refused it, is in the log. Who has no role cannot fill it.
func identified(h http.Handler, who Identify, logger *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := who(r)
		if err != nil {
			Refuse(w, err)
			return
		}
		ctx := context.WithValue(r.Context(), callerKey{}, caller)
		if caller.May != nil {
			during, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(caller.May, func() { cancel(errNoMore) })()
			ctx = during
		}
		r = r.WithContext(ctx)
		if r.Method == http.MethodGet || r.Method == http.MethodHead || caller.Role == NoRole {
			h.ServeHTTP(w, r)
			return
		}
		answer := &answered{w, http.StatusOK}
		h.ServeHTTP(answer, r)
		logger.Info("command", "request", r.Pattern, "caller", caller.String(), "status", answer.status)
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
