package health

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func endpointOf(t *testing.T, l net.Listener) netip.AddrPort {
	t.Helper()
	at, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestProbeOfTCP(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := Probe{Endpoint: endpointOf(t, listener), Timeout: 5 * time.Second}
	if err := p.Ask(t.Context()); err != nil {
		t.Errorf("who listens: %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Ask(t.Context()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("who listens no more: %v", err)
	}
}

// A server that misbehaves is down, and holds nobody up for longer than the timeout.
func TestProbeOfHTTP(t *testing.T) {
	silent := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			w.WriteHeader(http.StatusNoContent)
		case "/elsewhere":
			http.Redirect(w, r, "/bad", http.StatusFound)
		case "/bad":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/silent":
			<-silent
		case "/headers":
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		case "/endless":
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		default:
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = c.Write([]byte("SSH-2.0-x\r\n"))
				_ = c.Close()
			}
		}
	}))
	t.Cleanup(func() { close(silent); server.Close() })
	at := endpointOf(t, server.Listener)
	for path, want := range map[string]string{
		"/good": "", "/elsewhere": "", "/endless": "", "/bad": "/bad answers 503", "/silent": "did not answer within", "/headers": "/headers",
		"/no-http": "malformed",
	} {
		timeout := 20 * time.Second
		if path == "/silent" {
			timeout = 50 * time.Millisecond
		}
		err := Probe{Endpoint: at, Path: path, Timeout: timeout}.Ask(context.Background())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("%s: more than a line: %v", path, err)
		}
	}
}
