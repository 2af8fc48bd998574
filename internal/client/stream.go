package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// maxLine bounds one line of a stream and one error, in bytes. A reload can
// have a hundred faults to tell of.
const maxLine = 1 << 20

// errorPrefix begins the line with which a stream tells that it failed. No
// entry has a field of that name.
var errorPrefix = []byte(`{"error":`)

// follow calls visit for each line of a stream.
func follow[T any](ctx context.Context, c *Client, path string, query url.Values, begun func(), visit func(T) bool) error {
	response, err := c.ask(ctx, http.MethodGet, path, query)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only read
	begun()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), errorPrefix) {
			e := Error{Status: http.StatusOK}
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				return c.broken(err)
			}
			return &e
		}
		var value T
		if err := json.Unmarshal(lines.Bytes(), &value); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !lines.Scan() && lines.Err() != nil {
				err = lines.Err() // it was half a line: the stream broke
			}
			return c.broken(err)
		}
		if !visit(value) {
			return nil
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := lines.Err(); err != nil {
		return c.broken(err)
	}
	return nil
}
