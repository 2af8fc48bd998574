package api

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// readyTime is for how long an answer about readiness stands: who has no role may ask, and the gateway asks itself.
const readyTime = time.Second

// readiness remembers whether the gateway is ready.
type readiness struct {
	lock  sync.Mutex
	until time.Time
	err   error
}

func (r *readiness) of(ctx context.Context, now time.Time, ready func(context.Context) error) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	if now.Before(r.until) {
		return r.err
	}
	err := ready(ctx)
	if ctx.Err() == nil { // else it is about who asked
		r.until, r.err = now.Add(readyTime), err
	}
	return err
}

func (h handler) healthz(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	return well(w, query, nil)
}

func (h handler) readyz(w http.ResponseWriter, r *http.Request, query url.Values) error {
	return well(w, query, h.readiness.of(r.Context(), time.Now(), h.gateway.Ready))
}

func well(w http.ResponseWriter, query url.Values, err error) error {
	if asked := wantNone(query); asked != nil {
		return asked
	}
	if err != nil {
		return failure{http.StatusServiceUnavailable, err}
	}
	limitWrite(w)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // fails only for a client that has gone
	return nil
}
