package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Error is what goes over the wire when a request fails.
type Error struct {
	Message string `json:"error"`
}

// handler answers for one gateway.
type handler struct{ gateway Gateway }

// endpoint answers one kind of request. An error that it returns has sent nothing yet.
type endpoint func(handler, http.ResponseWriter, *http.Request, url.Values) error

var routes = withListings(map[string]endpoint{
	"GET /v1/status":   handler.status,
	"GET /v1/sessions": handler.sessions,
	"GET /v1/pool":     handler.pool,
	"GET /v1/hosts":    handler.hosts,
	"GET /v1/chains":   handler.chains,
	"GET /v1/drops":    handler.drops,
	"GET /v1/capture":  handler.capture,
	"GET /v1/explain":  handler.explain,
	"POST /v1/reload":  handler.reload,

	"POST /v1/handover": handler.handover,

	"POST /v1/chains/insert": handler.insertFunction,
	"POST /v1/chains/remove": handler.removeFunction,
	"POST /v1/chains/move":   handler.moveFunction,
	"POST /v1/chains/save":   handler.saveChains,

	"GET /v1/bans":         handler.bans,
	"POST /v1/bans/add":    handler.addBans,
	"POST /v1/bans/remove": handler.removeBans,

	"GET /v1/jails":          handler.jails,
	"GET /v1/events":         handler.events,
	"GET /v1/lists":          handler.lists,
	"POST /v1/lists/refresh": handler.refreshLists,

	"POST /v1/sessions/end": handler.endSessions,
})

// Handler returns the API of g for who has the role that a request takes. What it has no endpoint for is refused in the words
// of the mux, in plain text: a client of another version.
func Handler(g Gateway, role func(context.Context) Role) http.Handler {
	mux := http.NewServeMux()
	for pattern, serve := range routes {
		want := leastOf(pattern)
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if have := role(r.Context()); have < want {
				_ = reply(w, http.StatusForbidden, Error{refuse(have, want).Error()}) // a client that has gone is no error of ours
				return
			}
			serve.answer(handler{g}, w, r)
		})
	}
	return mux
}

// failure is an error with its HTTP status.
type failure struct {
	status int
	error
}

// answer answers one request.
func (serve endpoint) answer(h handler, w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		err = failure{http.StatusBadRequest, fmt.Errorf("read the query: %w", err)}
	} else {
		err = serve(h, w, r, query)
	}
	if err == nil {
		return
	}
	status := http.StatusInternalServerError
	var f failure
	if errors.As(err, &f) {
		status = f.status
	}
	// A client that has gone is no error of ours.
	_ = reply(w, status, Error{err.Error()})
}

func (h handler) status(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	if err := wantNone(query); err != nil {
		return err
	}
	status, err := h.gateway.Status()
	if err != nil {
		return err
	}
	status.Interfaces, status.Reasons, status.Warnings = list(status.Interfaces), list(status.Reasons), list(status.Warnings)
	status.ChangedChains = list(status.ChangedChains)
	return reply(w, http.StatusOK, status)
}

func (h handler) pool(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	filter, err := wantFilter(query)
	if err != nil {
		return err
	}
	bindings, err := h.gateway.Pool(filter)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, list(bindings))
}

func (h handler) hosts(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	filter, err := wantFilter(query)
	if err != nil {
		return err
	}
	hosts, err := h.gateway.Hosts(filter)
	if err != nil {
		return err
	}
	answer := make([]Host, len(hosts)) // the gateway's own must not change
	for i, host := range hosts {
		host.Open, host.Services = list(host.Open), list(host.Services)
		answer[i] = host
	}
	return reply(w, http.StatusOK, answer)
}

func (h handler) endSessions(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	filter, err := wantFilter(query)
	if err != nil {
		return err
	}
	n, err := h.gateway.EndSessions(filter)
	if err != nil {
		return fmt.Errorf("%d sessions were ended, and then: %w", n, err)
	}
	return reply(w, http.StatusOK, Ended{n})
}

// reload blames the configuration for whatever goes wrong.
func (h handler) reload(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	return do(w, query, h.gateway.Reload)
}

func (h handler) handover(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	return do(w, query, h.gateway.Handover)
}

// listAll answers with a listing that takes no filter.
func listAll[T any](w http.ResponseWriter, query url.Values, all func() ([]T, error)) error {
	if err := wantNone(query); err != nil {
		return err
	}
	values, err := all()
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, list(values))
}

func wantNone(query url.Values) error {
	for key := range query {
		return failure{http.StatusBadRequest, fmt.Errorf("unknown parameter %q: none is taken here", key)}
	}
	return nil
}

func wantFilter(query url.Values) (Filter, error) {
	filter, err := ParseFilter(query)
	if err != nil {
		return filter, failure{http.StatusBadRequest, err}
	}
	return filter, nil
}

// list makes JSON write [] instead of null.
func list[T any](values []T) []T {
	if values == nil {
		return []T{}
	}
	return values
}

func reply(w http.ResponseWriter, status int, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // fails only for a client that has gone
	return nil
}
