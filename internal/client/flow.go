package client

import "context"

// FlowWatcher watches flows of a running gateway.
type FlowWatcher struct{ client *Client }

// FlowsOf returns one for a client's gateway.
func FlowsOf(c *Client) FlowWatcher { return FlowWatcher{c} }

// Observe calls visit for flows, until there are no more or visit returns false. It calls started before that, once the gateway has
// agreed. A request whose Last is negative leaves that to the gateway.
func (w FlowWatcher) Observe(ctx context.Context, r ObserveRequest, started func(), visit func(Flow) bool) error {
	if r.Follow {
		return live(ctx, w.client, "/v1/observe", r.Query(), started, visit)
	}
	return follow(ctx, w.client, "/v1/observe", r.Query(), started, visit)
}
