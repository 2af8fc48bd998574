package client

import "context"

// BanEditor bans and unbans at a running gateway, and lists the bans.
type BanEditor struct{ client *Client }

// BanEditor returns one for the client's gateway.
func (c *Client) BanEditor() BanEditor { return BanEditor{c} }

// List returns the bans in force, by their prefixes.
func (e BanEditor) List(ctx context.Context) ([]Ban, error) {
	return list[Ban](ctx, e.client, "/v1/bans", nil)
}

// Add bans prefixes: all of them or, with an error, none. It returns how many are banned anew, and bans that hold for longer and
// stay as they are.
func (e BanEditor) Add(ctx context.Context, r BanRequest) (BanChange, error) {
	return post[BanChange](ctx, e.client, "/v1/bans/add", r)
}

// Remove ends bans, and returns how many of the prefixes were banned, and what bans of
// wider ones go on.
func (e BanEditor) Remove(ctx context.Context, r BanRequest) (BanChange, error) {
	return post[BanChange](ctx, e.client, "/v1/bans/remove", r)
}
