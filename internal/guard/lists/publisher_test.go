package lists

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// publisher is a web server that does what it is told.
type publisher struct {
	*httptest.Server
	act atomic.Pointer[http.HandlerFunc]
}

func newPublisher(t *testing.T) *publisher {
	p := &publisher{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*p.act.Load())(w, r) }))
	t.Cleanup(p.Close)
	return p
}

func (p *publisher) does(act http.HandlerFunc) { p.act.Store(&act) }

// text is a list of so many entries.
func text(entries int) string { return feed(entries, 0) }

// says answers with a body, and with headers NAME, VALUE, ...
func says(body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		_, _ = io.WriteString(w, body)
	}
}

// asksFor answers that nothing has changed, if it is asked for just that copy.
func asksFor(etag, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, body)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func redirects(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

// raw says bytes as they are and then breaks the connection, or closes it.
func raw(said string, breaks bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(connection, said)
		if breaks {
			_ = connection.(*net.TCPConn).SetLinger(0) // closing sends RST
		}
		_ = connection.Close()
	}
}

// sends writes a piece again and again until nobody reads, every now and then where
// there is a pause.
func sends(piece string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			if pause == 0 {
				continue
			}
			select {
			case <-r.Context().Done():
				return
			case <-time.After(pause):
			}
		}
	}
}

// stalls says a part and then nothing more.
func stalls(part string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if part != "" {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}
