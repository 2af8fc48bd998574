package api

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// handler answers for one gateway.
type handler struct {
	gateway Gateway
	*shared
}

// shared is what requests of one gateway share.
type shared struct {
	readiness   readiness
	summarizing sync.Mutex
}

// Handler returns the API of g for who has the role that a request takes.
func Handler(g Gateway, who Identify, logger *slog.Logger) http.Handler {
	h, mux, methods := handler{g, &shared{}}, http.NewServeMux(), map[string][]string{}
	for _, route := range Routes() {
		methods[route.Path] = append(methods[route.Path], route.Method)
		mux.HandleFunc(route.pattern(), func(w http.ResponseWriter, r *http.Request) {
			if c := callerOf(r.Context()); c.Role < route.Role {
				Refuse(w, refuse(c, route.Role))
				return
			}
			if route.Form == Live || route.Form == Events {
				during, end := untilHangUp(r)
				defer end()
				r = during
			}
			route.serve.answer(h, w, r)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		Refuse(w, noRoute(w, r, methods[r.URL.Path]))
	})
	return identified(mux, who, logger)
}

// noRoute says why nothing answers a request, where a path may have other methods.
func noRoute(w http.ResponseWriter, r *http.Request, methods []string) error {
	if methods != nil {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		return failure{http.StatusMethodNotAllowed, fmt.Errorf("%s is asked by %s, not by %s", r.URL.Path, strings.Join(methods, " or "), r.Method)}
	}
	return failure{http.StatusNotFound, WithRemedy(fmt.Errorf("there is no %s in version %s", r.URL.Path, Version()), "see /v1/openapi.json")}
}

// answer answers one request.
func (serve endpoint) answer(h handler, w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		err = failed(fmt.Errorf("read the query: %w", err))
	} else {
		err = serve(h, w, r, query)
	}
	if err != nil {
		Refuse(w, err)
	}
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
	status.ChangedChains, status.Outbound = list(status.ChangedChains), list(status.Outbound)
	w.Header().Set("ETag", tag(status.Generation))
	return reply(w, http.StatusOK, status)
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

func wantNone(query url.Values) error {
	for key := range query {
		return failed(fmt.Errorf("unknown parameter %q: none is taken here", key))
	}
	return nil
}

func wantFilter(query url.Values) (Filter, error) {
	filter, err := ParseFilter(query)
	if err != nil {
		return filter, failed(err)
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
	limitWrite(w)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // fails only for a client that has gone
	return nil
}
