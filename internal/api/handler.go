package api

import (
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

// handler serves the API of one gateway.
type handler struct{ gateway Gateway }

// Handler returns the API of g.
func Handler(g Gateway) http.Handler { return handler{g} }

// route is one method on one path. An error that it returns has sent nothing
// yet.
type route struct {
	method string
	serve  func(handler, http.ResponseWriter, *http.Request, url.Values) error
}

var routes = withListings(map[string]route{
	"/v1/status":   {http.MethodGet, handler.status},
	"/v1/sessions": {http.MethodGet, handler.sessions},
	"/v1/pool":     {http.MethodGet, handler.pool},
	"/v1/hosts":    {http.MethodGet, handler.hosts},
	"/v1/chains":   {http.MethodGet, handler.chains},
	"/v1/drops":    {http.MethodGet, handler.drops},
	"/v1/capture":  {http.MethodGet, handler.capture},
	"/v1/explain":  {http.MethodGet, handler.explain},
	"/v1/reload":   {http.MethodPost, handler.reload},

	"/v1/chains/insert": {http.MethodPost, handler.insertFunction},
	"/v1/chains/remove": {http.MethodPost, handler.removeFunction},
	"/v1/chains/move":   {http.MethodPost, handler.moveFunction},
	"/v1/chains/save":   {http.MethodPost, handler.saveChains},

	"/v1/bans":        {http.MethodGet, handler.bans},
	"/v1/bans/add":    {http.MethodPost, handler.addBans},
	"/v1/bans/remove": {http.MethodPost, handler.removeBans},

	"/v1/watches":       {http.MethodGet, handler.watches},
	"/v1/events":        {http.MethodGet, handler.events},
	"/v1/lists":         {http.MethodGet, handler.lists},
	"/v1/lists/refresh": {http.MethodPost, handler.refreshLists},

	"/v1/sessions/end": {http.MethodPost, handler.endSessions},
})

// failure is an error with its HTTP status.
type failure struct {
	status int
	error
}

// ServeHTTP answers one request.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := h.route(w, r)
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

func (h handler) route(w http.ResponseWriter, r *http.Request) error {
	to, ok := routes[r.URL.Path]
	if !ok {
		return failure{http.StatusNotFound, fmt.Errorf("there is no %q", r.URL.Path)}
	}
	if r.Method != to.method {
		w.Header().Set("Allow", to.method)
		return failure{http.StatusMethodNotAllowed, fmt.Errorf("%s takes %s, not %s", r.URL.Path, to.method, r.Method)}
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return failure{http.StatusBadRequest, fmt.Errorf("read the query: %w", err)}
	}
	return to.serve(h, w, r, query)
}

func (h handler) status(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	if err := wantNone(query); err != nil {
		return err
	}
	status, err := h.gateway.Status()
	if err != nil {
		return err
	}
	status.Interfaces, status.Reasons, status.Remedies = list(status.Interfaces), list(status.Reasons), list(status.Remedies)
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
