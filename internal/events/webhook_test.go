package events

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func hookTo(t *testing.T, answer http.HandlerFunc) (*webhook, *httptest.Server) {
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return newWebhook(server.URL + "/secret"), server
}

func TestWebhookPostsAnArray(t *testing.T) {
	t.Parallel()
	w, server := hookTo(t, func(w http.ResponseWriter, r *http.Request) {
		var got []map[string]any
		user, password, _ := r.BasicAuth()
		err := json.NewDecoder(r.Body).Decode(&got)
		if err != nil || len(got) != 2 || got[1]["a"] != 2.0 || r.Method != http.MethodPost || r.URL.Path != "/secret" ||
			r.Header.Get("Content-Type") != "application/json" || user != "me" || password != "word" {
			t.Errorf("%+v: %v, %v", got, err, r)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	w.url = strings.Replace(server.URL, "http://", "http://me:word@", 1) + "/secret"
	mustTake(t, w)
	mustTake(t, w, `{"a":1}`, `{"a":2}`)
}

// Whatever a server does, it is over soon, costs little, and what was sent counts as
// delivered only where it said so.
func TestWebhookWithAServerThatMisbehaves(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	over := make(chan struct{})
	defer close(over) // before the servers are
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"slow":    {func(_ http.ResponseWriter, r *http.Request) { <-over }, "the server took longer than"},
		"failing": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "the server answered 500 Internal Server Error"},
		"unknown": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(799) }, "the server answered 799"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "redirections are not followed"},
		"closing": {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Long", strings.Repeat("x", 1<<20))
		}, "exceeded"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			page := make([]byte, 1<<20)
			for {
				if _, err := w.Write(page); err != nil {
					return
				}
			}
		}, ""},
	} {
		w, _ := hookTo(t, c.answer)
		if name == "slow" {
			w.limit = 50 * time.Millisecond
		}
		n, err := offer(t, w, "{}", "{}")
		switch {
		case c.want == "" && (err != nil || n != 2):
			t.Errorf("%s: %d lines, %v", name, n, err)
		case c.want != "" && (err == nil || n != 0 || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: %d lines, %v, want %q", name, n, err, c.want)
		}
	}
	if elsewhere.Load() > 0 {
		t.Error("events went where a redirection points to")
	}
}

// raw answers with bytes that are no HTTP, or that never end.
func TestWebhookWithWhatIsNoWebServer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(net.Conn){
		"nonsense": func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n\r\n") },
		"informational": func(c net.Conn) {
			for {
				if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\n\r\n"); err != nil {
					return
				}
			}
		},
		"header without end": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := io.WriteString(c, "A: b\r\n"); err != nil {
					return
				}
			}
		},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			if c, err := listener.Accept(); err == nil {
				_, _ = c.Read(make([]byte, 1))
				answer(c)
				_ = c.Close()
			}
		}()
		if n, err := offer(t, newWebhook("http://"+listener.Addr().String()+"/secret"), "{}"); n != 0 || err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %d lines, %v", name, n, err)
		}
	}
	if _, err := offer(t, newWebhook("http://127.0.0.1:1/secret"), "{}"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody listens: %v", err)
	}
}
