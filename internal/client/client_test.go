package client

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

// serve runs the API of g and returns a client for it.
func serve(t *testing.T, g api.Gateway) *Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.sock")
	l, err := api.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	go func() {
		served <- api.Serve(ctx, l, g, func() api.Access { return nil }, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return New(Options{Socket: path})
}

var (
	request = CaptureRequest{Chain: "web", Function: "mirror", Snap: 96}
	packet  = Packet{Time: time.Unix(1_800_000_000, 123_456_789).UTC(), Function: "mirror", Direction: "out", Length: 70, Data: []byte{0, 255, '\n'}, Lost: 1 << 60}
)

var filter = Filter{Address: netip.MustParseAddr("10.0.0.1"), Port: 80, Protocol: model.TCP, Host: "a.example."}

func TestAnswersComeThrough(t *testing.T) {
	g := fakeGateway{sessions: 3, started: time.Unix(1_800_000_000, 0).UTC()}
	c, ctx := serve(t, g), t.Context()
	status, err := c.Status(ctx)
	want, _ := g.Status()
	want.Interfaces, want.Reasons, want.Warnings = []Interface{}, []ReasonCount{}, []string{}
	want.ChangedChains, want.Outbound = []ChangedChain{}, []Outbound{}
	if err != nil || !reflect.DeepEqual(status, want) {
		t.Errorf("status %+v, %v", status, err)
	}
	pool, err := c.Pool(ctx, filter)
	if want, _ := g.Pool(filter); err != nil || !reflect.DeepEqual(pool, want) {
		t.Errorf("pool %+v, %v", pool, err)
	}
	hosts, err := c.Hosts(ctx, filter)
	if want, _ := g.Hosts(filter); err != nil || !reflect.DeepEqual(hosts, want) {
		t.Errorf("hosts %+v, %v", hosts, err)
	}
	var names []api.Name
	err = c.Listing(ctx, Listings()[0], filter, &names)
	if want := []api.Name{{Service: "names", Address: filter.Address, Host: filter.Host}}; err != nil || !reflect.DeepEqual(names, want) {
		t.Errorf("names %+v, %v", names, err)
	}
	chains, err := c.Chains(ctx)
	if want, _ := g.Chains(); err != nil || !reflect.DeepEqual(chains, want) {
		t.Errorf("chains %+v, %v", chains, err)
	}
	bans, err := c.BanEditor().List(ctx)
	if want, _ := g.Bans(); err != nil || !reflect.DeepEqual(bans, want) {
		t.Errorf("bans %+v, %v", bans, err)
	}
	jails, err := c.Jails(ctx)
	if want, _ := g.Jails(); err != nil || !reflect.DeepEqual(jails, want) {
		t.Errorf("jails %+v, %v", jails, err)
	}
	sinks, err := c.Events(ctx)
	if want, _ := g.Events(); err != nil || !reflect.DeepEqual(sinks, want) {
		t.Errorf("sinks %+v, %v", sinks, err)
	}
	lists, err := c.Lists(ctx)
	if want, _ := g.Lists(); err != nil || !reflect.DeepEqual(lists, want) {
		t.Errorf("lists %+v, %v", lists, err)
	}
	if n, err := c.RefreshLists(ctx, ListRequest{Lists: []string{"drop", "other"}}); err != nil || n != 2 {
		t.Errorf("%d lists to fetch, %v", n, err)
	}
	flow := ExplainRequest{Address: filter.Address, ToName: "a.example."}
	explained, err := c.Explain(ctx, flow)
	if want, _ := g.Explain(flow); err != nil || !reflect.DeepEqual(explained, want) {
		t.Errorf("explained %+v, %v", explained, err)
	}
	request := BanRequest{Prefixes: []netip.Prefix{netip.MustParsePrefix("203.0.113.7/32"), netip.MustParsePrefix("198.51.100.0/24")}, Seconds: 60}
	added, err := c.BanEditor().Add(ctx, request)
	removed, err2 := c.BanEditor().Remove(ctx, request)
	if err != nil || err2 != nil || added.Prefixes != 2 || removed.Prefixes != 2 || !slices.Equal(removed.Wider, request.Prefixes[1:]) {
		t.Errorf("%v and %v bans, %v, %v", added, removed, err, err2)
	}
	done, err := c.ConfigEditor().Reload(ctx)
	if err != nil || done != (Reload{Generation: 7, Hosts: 2}) {
		t.Errorf("reload %+v, %v", done, err)
	}
	left, err := c.Handover(ctx)
	if err != nil || left.Sessions != 3 {
		t.Errorf("%+v left, %v", left, err)
	}
	ended, err := c.EndSessions(ctx, filter)
	if err != nil || ended != 3 {
		t.Errorf("%d sessions ended, %v", ended, err)
	}
	sessions := 0
	err = c.Sessions(ctx, filter, func(s Session) bool {
		sessions++
		return s.Private == netip.AddrPortFrom(filter.Address, filter.Port) && s.Host == filter.Host && s.Protocol == filter.Protocol
	})
	if err != nil || sessions != 3 {
		t.Errorf("%d sessions, %v", sessions, err)
	}
}

// Changes of chains come through with all that they say.
func TestChainChanges(t *testing.T) {
	c, ctx, five := serve(t, fakeGateway{}), t.Context(), 5
	inserted, err := c.ChainEditor().Insert(ctx, ChainRequest{Chain: "web", Function: "{use: filter}", Before: "a"})
	removed, err2 := c.ChainEditor().Remove(ctx, ChainRequest{Chain: "web", Function: "a"})
	moved, err3 := c.ChainEditor().Move(ctx, ChainRequest{Chain: "web", Function: "b", Priority: &five})
	saved, err4 := c.ChainEditor().Save(ctx)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	if want := (ChainsSaved{Config: "a.yaml", Chains: []string{"web"}}); !reflect.DeepEqual(saved, want) {
		t.Errorf("%+v", saved)
	}
	for _, c := range []struct{ got, want ChainChange }{
		{inserted, ChainChange{Generation: 1, Chain: "web", Functions: []string{"{use: filter}", "a"}}}, {removed, ChainChange{Generation: 2, Chain: "web", Functions: []string{"a"}}},
		{moved, ChainChange{Generation: 5, Chain: "web", Functions: []string{"b"}}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("got %+v, want %+v", c.got, c.want)
		}
	}
}

// Many buffers full come through, and a visitor may have enough of them.
func TestManySessions(t *testing.T) {
	const all = 20_000
	c := serve(t, fakeGateway{sessions: all})
	for _, enough := range []int{1, 1000, all, 2 * all} {
		seen := 0
		err := c.Sessions(t.Context(), filter, func(Session) bool { seen++; return seen < enough })
		if err != nil || seen != min(enough, all) {
			t.Errorf("%d of %d, %v", seen, enough, err)
		}
	}
}

func TestDropsEnd(t *testing.T) {
	c := serve(t, fakeGateway{})
	seen, started := 0, 0
	err := c.Drops(t.Context(), filter, func() { started++ }, func(d Drop) bool {
		seen++
		return d.Host == filter.Host && seen < 10
	})
	if err != nil || seen != 10 || started != 1 {
		t.Errorf("%d drops, started %d times, %v", seen, started, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	if err := c.Drops(ctx, filter, func() {}, func(Drop) bool { stop(); return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancel: %v", err)
	}
}

func TestErrorsOfTheGateway(t *testing.T) {
	c, ctx := serve(t, fakeGateway{err: errors.New("a.yaml:3: no\na.yaml:9: never"), sessions: 1000}), t.Context()
	_, status := c.Status(ctx)
	_, pool := c.Pool(ctx, filter)
	_, hosts := c.Hosts(ctx, filter)
	_, chains := c.Chains(ctx)
	_, reload := c.ConfigEditor().Reload(ctx)
	for what, err := range map[string]error{
		"status": status, "pool": pool, "hosts": hosts, "chains": chains, "reload": reload,
		"sessions": c.Sessions(ctx, filter, func(Session) bool { return true }),
	} {
		var e *Error
		if !errors.As(err, &e) || e.Detail != "a.yaml:3: no\na.yaml:9: never" {
			t.Errorf("%s: %v", what, err)
		}
	}
	var e *Error
	if errors.As(reload, &e); e == nil || e.Status != http.StatusUnprocessableEntity {
		t.Errorf("reload: %+v", e)
	}
}

// The errors when nobody answers say which socket, and what to do, in one line.
func TestNoGateway(t *testing.T) {
	directory := t.TempDir()
	dead := filepath.Join(directory, "dead.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	missing := filepath.Join(directory, "missing.sock")
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{Instance: "nobody"}, "no gateway answers on /run/realmgate/nobody.sock: start it with: realmgate run -c FILE --instance nobody"},
		{Options{Socket: missing}, "no gateway answers on " + missing + ": start it with: realmgate run -c FILE --socket " + missing},
		{Options{Socket: dead, Instance: "lab"}, "no gateway answers on " + dead + ": start it with: realmgate run -c FILE --instance lab --socket " + dead},
	} {
		_, err := New(c.options).Status(t.Context())
		if !errors.Is(err, ErrNoGateway) || err.Error() != c.want {
			t.Errorf("%+v:\n got %v\nwant %s", c.options, err, c.want)
		}
	}
	if path := New(Options{}).socket; path != "/run/realmgate/default.sock" {
		t.Errorf("the default socket is %s", path)
	}
}

func TestPermissionDenied(t *testing.T) {
	c := New(Options{Socket: "/run/realmgate/default.sock"})
	err := c.unreachable(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", os.ErrPermission)})
	if !errors.Is(err, ErrPermission) || err.Error() != "open /run/realmgate/default.sock: permission denied: run as root, or as a member of realmgate-read to look, realmgate-operate to act, or realmgate-admin for everything" {
		t.Error(err)
	}
}

// Servers that break off, or are no gateway, give clear errors.
func TestBrokenServers(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, c := range map[string]struct{ answer, want string }{
		"hangs up":       {"", "stopped before its answer was complete"},
		"half a stream":  {head + "16\r\n{\"reason\":\"drop_ttl\"}\n\r\n", "stopped before its answer was complete"},
		"half a line":    {head + "9\r\n{\"reason\"\r\n", "stopped before its answer was complete"},
		"ends by itself": {head + "0\r\n\r\n", "stopped before its answer was complete"},
		"no JSON":        {head + "6\r\nhello\n\r\n0\r\n\r\n", "read the answer from"},
		"no HTTP":        {"SSH-2.0\r\n\r\n", "malformed HTTP"},
		"no reason":      {"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\nno", "status 502 and no reason"},
	} {
		path := filepath.Join(t.TempDir(), "a.sock")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer func() { _ = l.Close() }()
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, c.answer)
		}()
		err = New(Options{Socket: path}).Drops(t.Context(), Filter{}, func() {}, func(Drop) bool { return true })
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
