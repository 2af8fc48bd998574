package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"time"
)

const (
	dialTime   = 5 * time.Second
	answerTime = 60 * time.Second // until an answer begins: a large reload compiles and loads
)

// DefaultInstance is the instance of whoever names none.
const DefaultInstance = "default"

// SocketPath returns where the gateway of that instance listens.
func SocketPath(instance string) string { return "/run/realmgate/" + instance + ".sock" }

// Options says which gateway to talk to.
type Options struct {
	Instance string // empty: DefaultInstance
	Socket   string // empty: SocketPath(Instance)
}

// Client asks one gateway.
type Client struct {
	http   *http.Client
	socket string
	start  string // the command that would start this gateway
}

// New returns a client. Nothing is opened before the first request.
func New(o Options) *Client {
	c := &Client{socket: o.Socket, start: "realmgate run -c FILE"}
	if o.Instance == "" {
		o.Instance = DefaultInstance
	}
	if o.Instance != DefaultInstance {
		c.start += " --instance " + o.Instance
	}
	if c.socket == "" {
		c.socket = SocketPath(o.Instance)
	} else if c.socket != SocketPath(o.Instance) {
		c.start += " --socket " + c.socket
	}
	dialer := net.Dialer{Timeout: dialTime}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", c.socket)
		},
		DisableKeepAlives:     true, // a client that is forgotten leaves nothing open
		ResponseHeaderTimeout: answerTime,
	}}
	return c
}

// Status returns how the gateway is.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return fetch[Status](ctx, c, http.MethodGet, "/v1/status", nil)
}

// Pool returns which service has which address.
func (c *Client) Pool(ctx context.Context, f Filter) ([]Binding, error) {
	return list[Binding](ctx, c, "/v1/pool", f.Query())
}

// Hosts returns the hosts of the private realm.
func (c *Client) Hosts(ctx context.Context, f Filter) ([]Host, error) {
	return list[Host](ctx, c, "/v1/hosts", f.Query())
}

// Listing fills rows, a pointer to a slice, with those of one of Listings.
func (c *Client) Listing(ctx context.Context, l Listing, f Filter, rows any) error {
	all := reflect.ValueOf(rows).Elem()
	return c.lines(ctx, "/v1/"+l.Name, f.Query(), func() {}, func(line []byte) (bool, error) {
		row := reflect.New(all.Type().Elem())
		err := json.Unmarshal(line, row.Interface())
		all.Set(reflect.Append(all, row.Elem()))
		return true, err
	})
}

// Chains returns the chains in force.
func (c *Client) Chains(ctx context.Context) ([]Chain, error) {
	return list[Chain](ctx, c, "/v1/chains", nil)
}

// Jails returns the logs that are watched, in the order of the configuration.
func (c *Client) Jails(ctx context.Context) ([]Jail, error) {
	return list[Jail](ctx, c, "/v1/jails", nil)
}

// Events returns the sinks of events, in the order of the configuration.
func (c *Client) Events(ctx context.Context) ([]Sink, error) {
	return list[Sink](ctx, c, "/v1/events", nil)
}

// Lists returns the lists of addresses that are fetched, in the order of the file.
func (c *Client) Lists(ctx context.Context) ([]List, error) {
	return list[List](ctx, c, "/v1/lists", nil)
}

// RefreshLists makes the gateway fetch lists now, and returns how many.
func (c *Client) RefreshLists(ctx context.Context, r ListRequest) (int, error) {
	change, err := post[ListChange](ctx, c, "/v1/lists/refresh", r)
	return change.Lists, err
}

// Explain says what would decide about a new flow.
func (c *Client) Explain(ctx context.Context, r ExplainRequest) (Explanation, error) {
	return fetch[Explanation](ctx, c, http.MethodGet, "/v1/explain", r.Query())
}

// Handover makes the gateway stop and leave its data plane at work for the next one.
func (c *Client) Handover(ctx context.Context) (Handover, error) {
	return fetch[Handover](ctx, c, http.MethodPost, "/v1/handover", nil)
}

// EndSessions ends at once the sessions that the filter lets through, all of them
// by the zero filter, and returns how many.
func (c *Client) EndSessions(ctx context.Context, f Filter) (int, error) {
	ended, err := fetch[Ended](ctx, c, http.MethodPost, "/v1/sessions/end", f.Query())
	return ended.Sessions, err
}

// Drops calls visit for dropped packets as they happen, until visit returns
// false. There is no other end without an error; ctx.Err() is one. It calls
// started before that, once the gateway has agreed.
func (c *Client) Drops(ctx context.Context, f Filter, started func(), visit func(Drop) bool) error {
	return live(ctx, c, "/v1/drops", f.Query(), started, visit)
}

// Capture calls visit for packets that functions of a chain told to copy, as Drops
// does for those that are dropped. The zero request has the beginnings of these.
func (c *Client) Capture(ctx context.Context, r CaptureRequest, started func(), visit func(Packet) bool) error {
	if r == (CaptureRequest{}) {
		return live(ctx, c, "/v1/capture/drops", nil, started, visit)
	}
	return live(ctx, c, "/v1/capture", r.Query(), started, visit)
}

// live follows a stream that has no end of its own.
func live[T any](ctx context.Context, c *Client, path string, query url.Values, started func(), visit func(T) bool) error {
	enough := false
	err := follow(ctx, c, path, query, started, func(value T) bool {
		enough = !visit(value)
		return !enough
	})
	if err == nil && !enough {
		return c.broken(io.ErrUnexpectedEOF)
	}
	return err
}

// list asks for all rows of a list.
func list[T any](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	rows := []T{}
	err := follow(ctx, c, path, query, func() {}, func(row T) bool {
		rows = append(rows, row)
		return true
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// fetch asks for one JSON value.
func fetch[T any](ctx context.Context, c *Client, method, path string, query url.Values) (T, error) {
	response, err := c.ask(ctx, method, path, query)
	if err != nil {
		var none T
		return none, err
	}
	return decode[T](ctx, c, response)
}

// post sends one JSON value and reads another.
func post[A any](ctx context.Context, c *Client, path string, request any) (A, error) {
	var none A
	body, err := json.Marshal(request)
	if err != nil {
		return none, fmt.Errorf("write the request: %w", err)
	}
	response, err := c.send(ctx, http.MethodPost, path, nil, bytes.NewReader(body))
	if err != nil {
		return none, err
	}
	return decode[A](ctx, c, response)
}

// decode reads an answer of one JSON value.
func decode[T any](ctx context.Context, c *Client, response *http.Response) (value T, err error) {
	defer func() { _ = response.Body.Close() }() // only read
	if err := json.NewDecoder(response.Body).Decode(&value); err != nil {
		if ctx.Err() != nil {
			return value, ctx.Err()
		}
		return value, c.broken(err)
	}
	return value, nil
}

func (c *Client) ask(ctx context.Context, method, path string, query url.Values) (*http.Response, error) {
	return c.send(ctx, method, path, query, http.NoBody)
}

// send returns a response with status 200.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Response, error) {
	where := url.URL{Scheme: "http", Host: "realmgate", Path: path, RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, method, where.String(), body)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", path, err)
	}
	request.Header.Set("Accept", "application/x-ndjson, application/json, application/problem+json") // lists come whole, in lines
	response, err := c.http.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, c.unreachable(err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }() // only read
	var e Error
	if err := json.NewDecoder(io.LimitReader(response.Body, maxLine)).Decode(&e); err != nil || e.Detail == "" {
		return nil, fmt.Errorf("%s answers with status %d and no reason: is that a gateway of this version?", c.socket, response.StatusCode)
	}
	return nil, &e
}

// broken is what ends an answer in its middle.
func (c *Client) broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || isReset(err) {
		return fmt.Errorf("the gateway on %s stopped before its answer was complete", c.socket)
	}
	return fmt.Errorf("read the answer from %s: %w", c.socket, err)
}
