package client

import (
	"context"
	"net/http"
)

// LogReader asks a running gateway for what its log has.
type LogReader struct{ client *Client }

// LogOf returns one for a client's gateway.
func LogOf(c *Client) LogReader { return LogReader{c} }

// Trace says who had an endpoint outside at a time.
func (l LogReader) Trace(ctx context.Context, r TraceRequest) (Traced, error) {
	return fetch[Traced](ctx, l.client, http.MethodGet, "/v1/trace", r.Query())
}
