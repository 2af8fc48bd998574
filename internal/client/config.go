package client

import (
	"context"
	"net/http"
)

// ConfigEditor asks a running gateway about its configuration, and changes it.
type ConfigEditor struct{ client *Client }

// ConfigEditor returns one for the client's gateway.
func (c *Client) ConfigEditor() ConfigEditor { return ConfigEditor{c} }

// Reload makes the gateway read its configuration again. An error of type
// *Error comes from the gateway, which then goes on as before.
func (e ConfigEditor) Reload(ctx context.Context) (Reload, error) {
	return fetch[Reload](ctx, e.client, http.MethodPost, "/v1/reload", nil)
}

// Show returns what is in force.
func (e ConfigEditor) Show(ctx context.Context) (Config, error) {
	return fetch[Config](ctx, e.client, http.MethodGet, "/v1/config", nil)
}

// Diff says what a reload would change. An error of type *Error says why there can be none.
func (e ConfigEditor) Diff(ctx context.Context) (ConfigDiff, error) {
	return fetch[ConfigDiff](ctx, e.client, http.MethodGet, "/v1/config/diff", nil)
}
