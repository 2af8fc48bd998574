package client

import (
	"context"
	"net/http"
)

// ChainEditor changes chains of a running gateway.
type ChainEditor struct{ client *Client }

// ChainEditor returns one for the client's gateway.
func (c *Client) ChainEditor() ChainEditor { return ChainEditor{c} }

// Insert puts a function into a chain until the next reload. What is refused
// changes nothing, as with Remove and Move.
func (e ChainEditor) Insert(ctx context.Context, r ChainRequest) (ChainChange, error) {
	return post[ChainChange](ctx, e.client, "/v1/chains/insert", r)
}

// Remove takes a function out of a chain.
func (e ChainEditor) Remove(ctx context.Context, r ChainRequest) (ChainChange, error) {
	return post[ChainChange](ctx, e.client, "/v1/chains/remove", r)
}

// Move puts a function of a chain to another place.
func (e ChainEditor) Move(ctx context.Context, r ChainRequest) (ChainChange, error) {
	return post[ChainChange](ctx, e.client, "/v1/chains/move", r)
}

// Save makes the gateway write the chains that were changed to its file.
func (e ChainEditor) Save(ctx context.Context) (ChainsSaved, error) {
	return fetch[ChainsSaved](ctx, e.client, http.MethodPost, "/v1/chains/save", nil)
}
