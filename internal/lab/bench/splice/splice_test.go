package splice

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Two hosts behind it answer for their own names, and nobody for a third.
func TestServe(t *testing.T) {
	t.Parallel()
	hosts := map[string]string{}
	for _, name := range []string{"a.example", "b.example"} {
		host := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "this is "+name) }))
		defer host.Close()
		hosts[name] = host.Listener.Addr().String()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, listener, hosts) }()
	fetch := func(name string) (string, error) {
		transport := &http.Transport{
			TLSClientConfig: &tls.Config{ServerName: name, InsecureSkipVerify: true}, //nolint:gosec // who answers is what is tested
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, listener.Addr().String())
			},
		}
		defer transport.CloseIdleConnections()
		r, err := (&http.Client{Transport: transport}).Get("https://" + name + "/")
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		page, err := io.ReadAll(r.Body)
		return string(page), err
	}
	for name := range hosts {
		if page, err := fetch(name); err != nil || page != "this is "+name {
			t.Errorf("%s: %q, %v", name, page, err)
		}
	}
	if page, err := fetch("c.example"); err == nil {
		t.Errorf("a name that nobody has: %q", page)
	}
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Error(err)
	}
}
