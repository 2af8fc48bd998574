package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// A stream is what browsers' EventSource reads; what was lost is told where it was.
func TestStream(t *testing.T) {
	t.Parallel()
	g := &fakeGateway{told: []Told{
		{Messages: []Message{{Number: 7, Topic: "bans", Data: []byte(`{"a":1}`)}, {Number: 9, Topic: "status", Data: []byte("{}")}}},
		{Reset: true}, {Lost: 3, Messages: []Message{{Number: 20, Topic: "bans", Data: []byte("[]")}}},
	}}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/stream?topics=status,bans,bans", http.NoBody)
	r.Header.Set("Last-Event-ID", "e-6")
	w := httptest.NewRecorder()
	Handler(g, as(Read), slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
	const want = ":\n\n" + "id: e-7\nevent: bans\ndata: {\"a\":1}\n\n" + "id: e-9\nevent: status\ndata: {}\n\n" + "event: reset\ndata: {}\n\n" +
		"event: lost\ndata: {\"messages\":3}\n\n" + "id: e-20\nevent: bans\ndata: []\n\n"
	if got := w.Body.String(); w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/event-stream" || got != want {
		t.Errorf("%d %v\n got %q\nwant %q", w.Code, w.Header(), got, want)
	}
	if !slices.Equal(g.listened, []string{"bans", "status", "e-6"}) {
		t.Errorf("it listens to %q", g.listened)
	}
}

// Each topic takes its role, and a stream is of some.
func TestTopics(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"read /v1/stream":                      `400 topics: "" is none: use bans, drops, events, names, pool, sessions, status`,
		"read /v1/stream?topics=bans,":         `400 topics: "" is none: use bans, drops, events, names, pool, sessions, status`,
		"read /v1/stream?topics=weather":       `400 topics: "weather" is none: use bans, drops, events, names, pool, sessions, status`,
		"read /v1/stream?topics=bans&port=1":   `400 unknown parameter "port": none is taken here`,
		"read /v1/stream?topics=bans,drops":    "403 this takes the role operate, and you have read: ask as root, or as a member of realmgate-admin or realmgate-operate",
		"operate /v1/stream?topics=bans,drops": "500 the table cannot be read",
	} {
		name, path, _ := strings.Cut(target, " ")
		role := map[string]Role{"read": Read, "operate": Operate}[name]
		w := httptest.NewRecorder()
		h := Handler(&fakeGateway{err: errBroken}, as(role), slog.New(slog.DiscardHandler))
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if got := refusal(t, w); got != want {
			t.Errorf("%s:\n got %s\nwant %s", target, got, want)
		}
	}
}
