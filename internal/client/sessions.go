package client

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/realmgate/realmgate/internal/api"
)

// morePrefix begins the line that ends a page. No session has a field of that name.
var morePrefix = []byte(`{"next":`)

// Page is a part of the list of sessions; see package api.
type Page = api.Page

// Sessions calls visit for each session that the filter lets through, in no
// order, until visit returns false.
func (c *Client) Sessions(ctx context.Context, f Filter, visit func(Session) bool) error {
	_, err := c.SessionPage(ctx, f, Page{}, func(s *Session) bool { return visit(*s) })
	return err
}

// SessionPage calls visit for the sessions of a page, until visit returns false. next is
// the cursor of the page that follows; empty: there is none, or visit had enough. The session
// is visit's as long as it runs.
func (c *Client) SessionPage(ctx context.Context, f Filter, page Page, visit func(*Session) bool) (next string, err error) {
	var s Session
	err = c.lines(ctx, "/v1/sessions", page.Query(f.Query()), func() {}, func(line []byte) (bool, error) {
		if s.ReadLine(line) {
			return visit(&s), nil
		}
		if bytes.HasPrefix(line, morePrefix) {
			var more api.More
			err := json.Unmarshal(line, &more)
			next = more.Next
			return true, err
		}
		s = Session{}
		if err := json.Unmarshal(line, &s); err != nil {
			return false, err
		}
		return visit(&s), nil
	})
	return next, err
}
