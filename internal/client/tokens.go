package client

import (
	"context"

	"github.com/realmgate/realmgate/internal/api"
)

// TokenEditor makes, lists and revokes the tokens of a running gateway.
type TokenEditor struct{ client *Client }

// TokenEditor returns one for the client's gateway.
func (c *Client) TokenEditor() TokenEditor { return TokenEditor{c} }

// List returns the tokens, by their names.
func (e TokenEditor) List(ctx context.Context) ([]Token, error) {
	return list[Token](ctx, e.client, "/v1/tokens", nil)
}

// Create makes a token, whose secret is told now and never again.
func (e TokenEditor) Create(ctx context.Context, r TokenRequest) (TokenMade, error) {
	return post[TokenMade](ctx, e.client, "/v1/tokens/create", r)
}

// Revoke ends a token, and what is asked by it at the time.
func (e TokenEditor) Revoke(ctx context.Context, name string) (Token, error) {
	return post[Token](ctx, e.client, "/v1/tokens/revoke", api.TokenName{Name: name})
}
