package api

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A stop ends the streams with a line that says so, and gives the socket back.
func TestServeStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	g := &fakeGateway{drop: func(ctx context.Context, visit func(Drop) bool) error {
		visit(Drop{Reason: "drop_filtered"})
		<-ctx.Done()
		return nil
	}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error)
	go func() { served <- Serve(ctx, l, g, func() Access { return nil }, slog.New(slog.DiscardHandler)) }()

	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	response, err := client.Get("http://realmgate/v1/drops")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewReader(response.Body)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, `"reason":"drop_filtered"`) {
		t.Fatalf("%q, %v", line, err)
	}
	stop()
	if rest, err := io.ReadAll(lines); err != nil || string(rest) != failedLine("the gateway is stopping")+"\n" {
		t.Errorf("%q, %v", rest, err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if l, err := Listen(path); err != nil {
		t.Error(err)
	} else {
		_ = l.Close()
	}
}

// A listener that fails is an error, not a stop.
func TestServeReportsFailure(t *testing.T) {
	l, err := Listen(filepath.Join(t.TempDir(), "a.sock"))
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := Serve(t.Context(), l, &fakeGateway{}, func() Access { return nil }, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("no error")
	}
}

// A client that leaves ends the gateway's work for it, whatever it has sent beside its request.
func TestServeNoticesThatTheClientLeft(t *testing.T) {
	const request = "GET /v1/drops HTTP/1.1\r\nHost: realmgate\r\n"
	for name, c := range map[string]struct{ text, later string }{
		"nothing":            {request + "\r\n", ""},
		"more, later":        {request + "\r\n", "x"},
		"a body":             {request + "Content-Length: 2\r\n\r\n{}", ""},
		"that it has a body": {request + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.sock")
			l, err := Listen(path)
			if err != nil {
				t.Fatal(err)
			}
			left := make(chan struct{})
			g := &fakeGateway{drop: func(ctx context.Context, _ func(Drop) bool) error {
				<-ctx.Done()
				close(left)
				return nil
			}}
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error)
			go func() { served <- Serve(ctx, l, g, func() Access { return nil }, slog.New(slog.DiscardHandler)) }()
			conn, err := net.Dial("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, c.text); err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, c.later); err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
			select {
			case <-left:
			case <-time.After(20 * time.Second):
				t.Error("it goes on")
			}
			stop()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}
