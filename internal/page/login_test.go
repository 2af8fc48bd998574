package page

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

// one is a listener with one connection.
type one struct {
	conns chan net.Conn
	over  chan struct{}
}

func (l *one) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}
func (l *one) Close() error   { close(l.over); return nil }
func (l *one) Addr() net.Addr { return &net.TCPAddr{} }

// A stranger whose form never comes holds a connection for ten seconds.
func TestLoginWithoutForm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{Tokens: true, Now: time.Now}).Handler(func(*http.Request) (api.Caller, error) { return api.Caller{}, nil },
			func(api.Identify) http.Handler { return http.NotFoundHandler() })
		server := &http.Server{Handler: h} //nolint:gosec // what is tested is the deadline of the page
		l := &one{make(chan net.Conn, 1), make(chan struct{})}
		client, conn := net.Pipe()
		l.conns <- conn
		go func() { _ = server.Serve(l) }()
		defer server.Close()
		began := time.Now()
		_ = client.SetDeadline(began.Add(time.Hour))
		if _, err := io.WriteString(client, "POST /login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ntoken="); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(client)
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		_, err = io.Copy(io.Discard, response.Body)
		if _, end := in.ReadByte(); err != nil || end != io.EOF || response.StatusCode != http.StatusBadRequest || time.Since(began) > 11*time.Second {
			t.Errorf("status %d, %v, then %v, after %v", response.StatusCode, err, end, time.Since(began))
		}
		_ = client.Close()
	})
}
