package api

import (
	"net/http"
	"net/url"
)

// MetricsPage is what Prometheus reads.
type MetricsPage interface {
	// ServeMetrics answers with the page, in the format that the request wants.
	ServeMetrics(http.ResponseWriter, *http.Request)
}

func (h handler) metrics(w http.ResponseWriter, r *http.Request, query url.Values) error {
	if err := wantNone(query); err != nil {
		return err
	}
	limitWrite(w)
	h.gateway.ServeMetrics(w, r)
	return nil
}
