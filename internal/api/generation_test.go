package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A change that was made for what is no more in force is refused, and one that expects nothing is not.
func TestGenerations(t *testing.T) {
	t.Parallel()
	g := &fakeGateway{status: Status{Generation: 7}}
	if tag := ask(t, g, http.MethodGet, "/v1/status").Header().Get("ETag"); tag != `"7"` {
		t.Errorf("the status has the tag %s", tag)
	}
	for match, want := range map[string]string{
		`"7"`: "200", "*": "200", "": "200", `"6"`: "412 generation 7 is in force, and the change was made for 6: look at what is in force now, and try again with its generation",
		"7":             "400 If-Match: 7 is no generation: use the ETag of /v1/status",
		`"07"`:          `400 If-Match: "07" is no generation: use the ETag of /v1/status`,
		`"0"`:           `400 If-Match: "0" is no generation: use the ETag of /v1/status`,
		`"6", "7"`:      `400 If-Match: "6", "7" is no generation: use the ETag of /v1/status`,
		`W/"7"`:         `400 If-Match: W/"7" is no generation: use the ETag of /v1/status`,
		`"99999999999"`: `400 If-Match: "99999999999" is no generation: use the ETag of /v1/status`,
	} {
		for path, body := range map[string]string{
			"/v1/reload": "", "/v1/chains/save": "", "/v1/chains/insert": `{"chain":"web","function":"f"}`, "/v1/chains/remove": `{"chain":"web","function":"f"}`,
			"/v1/chains/move": `{"chain":"web","function":"f","after":"g"}`,
		} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
			if match != "" {
				r.Header.Set("If-Match", match)
			}
			w := httptest.NewRecorder()
			handlerOf(g).ServeHTTP(w, r)
			got := "200"
			if w.Code != http.StatusOK {
				got = refusal(t, w)
			}
			if got != want {
				t.Errorf("%s for %s:\n got %s\nwant %s", path, match, got, want)
			}
		}
	}
}

// Who has no role learns whether the gateway is well, and makes it look no more than once a second.
func TestHealth(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable, "/healthz?a": http.StatusBadRequest} {
		w := httptest.NewRecorder()
		h := Handler(&fakeGateway{err: errBroken}, as(NoRole), slog.New(slog.DiscardHandler))
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if w.Code != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	var r readiness
	now, looks, answer := time.Unix(1, 0), 0, errBroken
	look := func(context.Context) error { looks++; return answer }
	for _, c := range []struct {
		after time.Duration
		looks int
		want  error
	}{{0, 1, errBroken}, {readyTime / 2, 1, errBroken}, {readyTime, 2, nil}, {readyTime, 2, nil}} {
		if got := r.of(t.Context(), now.Add(c.after), look); !errors.Is(got, c.want) || looks != c.looks {
			t.Errorf("after %v: %v by %d looks", c.after, got, looks)
		}
		answer = nil
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	later := now.Add(time.Hour)
	_ = r.of(gone, later, func(ctx context.Context) error { return ctx.Err() })
	if err := r.of(t.Context(), later, look); err != nil || looks != 3 {
		t.Errorf("one who has gone answered for others: %v, %d looks", err, looks)
	}
}

// Who was refused for a configuration learns where it is at fault.
func TestFaultsOfAConfiguration(t *testing.T) {
	t.Parallel()
	w := ask(t, &fakeGateway{err: faults}, http.MethodPost, "/v1/reload")
	want := `{"type":"https://github.com/realmgate/realmgate/blob/main/docs/reference/api.md#configuration","title":"The configuration is at fault","status":422,` +
		`"detail":"a.yaml:3: no\na.yaml:9: never","errors":[{"file":"a.yaml","line":3,"detail":"no"},{"file":"a.yaml","line":9,"detail":"never"}]}`
	if got := strings.TrimSpace(w.Body.String()); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
