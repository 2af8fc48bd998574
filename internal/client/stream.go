package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/realmgate/realmgate/internal/api"
)

// maxLine bounds one line of a stream and one error, in bytes. A reload can
// have a hundred faults to tell of.
const maxLine = 1 << 20

const readBuffer = 64 << 10 // bytes of a stream that are read at a time

// errorPrefix begins the line with which a stream tells that it failed. No
// entry has a field of that name.
var errorPrefix = []byte(`{"error":`)

// follow calls visit for each line of a stream.
func follow[T any](ctx context.Context, c *Client, path string, query url.Values, started func(), visit func(T) bool) error {
	return c.lines(ctx, path, query, started, func(line []byte) (bool, error) {
		var value T
		if err := json.Unmarshal(line, &value); err != nil {
			return false, err
		}
		return visit(value), nil
	})
}

// lines calls read for each line of a stream until it wants no more. What it cannot read
// is a broken answer.
func (c *Client) lines(ctx context.Context, path string, query url.Values, started func(), read func([]byte) (bool, error)) error {
	response, err := c.ask(ctx, http.MethodGet, path, query)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only read
	started()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(make([]byte, 0, readBuffer), maxLine)
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), errorPrefix) {
			var failed api.Failed
			if err := json.Unmarshal(lines.Bytes(), &failed); err != nil {
				return c.broken(err)
			}
			return &Error{failed.Error}
		}
		more, err := read(lines.Bytes())
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !lines.Scan() && lines.Err() != nil {
				err = lines.Err() // it was half a line: the stream broke
			}
			return c.broken(err)
		}
		if !more {
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
