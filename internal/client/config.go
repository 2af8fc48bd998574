package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

// ConfigEditor asks a running gateway about its configuration, and changes it.
type ConfigEditor struct{ client *Client }

// ConfigEditor returns one for the client's gateway.
func (c *Client) ConfigEditor() ConfigEditor { return ConfigEditor{c} }

// Reload makes the gateway read its configuration again. An error of type
// *Error comes from the gateway, which then goes on as before.
func (e ConfigEditor) Reload(ctx context.Context) (Reload, error) { return e.TryReload(ctx, 0) }

// TryReload is Reload that the gateway undoes after a time, in whole seconds, unless Confirm comes before. 0 is for ever.
func (e ConfigEditor) TryReload(ctx context.Context, confirm time.Duration) (Reload, error) {
	return fetch[Reload](ctx, e.client, http.MethodPost, "/v1/reload", numbered("confirm", int(confirm/time.Second)))
}

// Confirm keeps what a reload put into force that is to be confirmed.
func (e ConfigEditor) Confirm(ctx context.Context) (Confirmed, error) {
	return fetch[Confirmed](ctx, e.client, http.MethodPost, "/v1/reload/confirm", nil)
}

// Show returns what is in force or, with a number, what that entry of the history says.
func (e ConfigEditor) Show(ctx context.Context, number int) (Config, error) {
	return fetch[Config](ctx, e.client, http.MethodGet, "/v1/config", numbered("number", number))
}

// numbered is a query with a number, none for 0.
func numbered(name string, number int) url.Values {
	if number == 0 {
		return nil
	}
	return url.Values{name: {strconv.Itoa(number)}}
}

// History returns the configurations that came into force, the latest last.
func (e ConfigEditor) History(ctx context.Context) ([]HistoryEntry, error) {
	return list[HistoryEntry](ctx, e.client, "/v1/config/history", nil)
}

// Rollback writes an entry of the history to the gateway's file, and puts it into force.
func (e ConfigEditor) Rollback(ctx context.Context, number int) (RolledBack, error) {
	return post[RolledBack](ctx, e.client, "/v1/config/rollback", api.RollbackRequest{Number: number})
}

// Diff says what a reload would change. An error of type *Error says why there can be none.
func (e ConfigEditor) Diff(ctx context.Context) (ConfigDiff, error) {
	return fetch[ConfigDiff](ctx, e.client, http.MethodGet, "/v1/config/diff", nil)
}
