package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/page"
	"github.com/realmgate/realmgate/test/lab"
)

// fake is an API that answers what a test wants, for what no gateway does at will.
type fake struct {
	answers map[string]string // path → JSON; what is not there is an empty list
	stream  func(ctx context.Context, tell func(topic, data string))
	first   func(w http.ResponseWriter, r *http.Request) bool // nil, or what may answer instead
	mutex   sync.Mutex
	clients int // that listen
}

// still is an API where all is well and 7 are banned.
func still(t *testing.T) *fake {
	t.Helper()
	return &fake{answers: map[string]string{
		"/v1/caller":   `{"role":"admin","kind":"user","name":"0"}`,
		"/v1/status":   string(marshal(t, api.Status{Health: "All is well.", Bans: 7, Warnings: []string{}, Reasons: []api.ReasonCount{}})),
		"/v1/pool/map": `{"number":0,"ranges":[],"states":"","offer":2,"rest":60}`,
	}}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.first != nil && f.first(w, r) {
		return
	}
	if r.URL.Path != "/v1/stream" {
		text := f.answers[r.URL.Path]
		if text == "" {
			text = `{"items":[]}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	_, _ = io.WriteString(w, ":\n\n")
	_ = flush.Flush()
	f.listens(1)
	defer f.listens(-1)
	n := 0
	f.stream(r.Context(), func(topic, data string) {
		n++
		_, _ = fmt.Fprintf(w, "id: x-%d\nevent: %s\ndata: %s\n\n", n, topic, data)
		_ = flush.Flush()
	})
	<-r.Context().Done()
}

func (f *fake) listens(by int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.clients += by
}

// serve serves the page of a fake in a namespace of its own until the test ends. It returns a browser there that has entered,
// and where the page is.
func (f *fake) serve(t *testing.T) (b *browser, at string) {
	t.Helper()
	alone, err := lab.New(t, "page").Namespace("gateway")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := alone.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	site := page.New(page.Options{Now: time.Now})
	stranger := func(*http.Request) (api.Caller, error) {
		return api.Caller{}, api.Fail(http.StatusUnauthorized, errors.New("nobody"))
	}
	h := site.Handler(stranger, func(who api.Identify) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := who(r); err != nil {
				api.Refuse(w, err)
				return
			}
			f.ServeHTTP(w, r)
		})
	})
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	at = "http://" + listener.Addr().String()
	b = newBrowser(t, alone)
	b.open(at + site.Link(api.Caller{Role: api.Admin, Kind: "link"}))
	b.until("the page opens", `document.querySelector("main") !== null && location.pathname === "/"`)
	return b, at
}
