package access

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/access/settings"
	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/events/event"
)

// recorder keeps what is told.
type recorder []event.Event

func (r *recorder) Emit(e event.Event) { *r = append(*r, e) }

// from is a request of an address with a header Authorization, if it is not empty.
func from(t *testing.T, address, authorization string) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/status", http.NoBody)
	r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(address), 40000).String()
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return r
}

// statusOf is what a refusal would be answered with.
func statusOf(t *testing.T, err error) int {
	t.Helper()
	w := httptest.NewRecorder()
	api.Refuse(w, err)
	var p api.Problem
	if json.Unmarshal(w.Body.Bytes(), &p) != nil || p.Remedy == "" {
		t.Errorf("no remedy: %s", w.Body)
	}
	if w.Code == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("no word of how: %v", w.Header())
	}
	return w.Code
}

// Who guesses is slowed, and each try that is heard is told of. Who has a token is not, beside a guesser, too.
func TestFailedLoginsAreSlowed(t *testing.T) {
	t.Parallel()
	var told recorder
	kept := opened(t, newMemory())
	made, err := kept.CreateToken(api.TokenRequest{Name: "a", Role: api.Operate, Seconds: 3600})
	if err != nil {
		t.Fatal(err)
	}
	l, now := newLogins(kept, &told, slog.New(slog.DiscardHandler)), time.Now()
	l.now = func() time.Time { return now }
	identify := l.identify(t.Context(), nil)
	try := func(address, authorization string) int {
		t.Helper()
		caller, err := identify(from(t, address, authorization))
		if err != nil {
			if caller.Role != api.NoRole {
				t.Errorf("who is refused has the role %s", caller.Role)
			}
			return statusOf(t, err)
		}
		return http.StatusOK
	}
	good := "Bearer " + made.Secret
	for range 100 { // asks without a token, as one does who does not know of them
		if got := try("192.0.2.1", ""); got != http.StatusUnauthorized {
			t.Fatal(got)
		}
	}
	for i := range failuresAtOnce + 3 {
		want := http.StatusUnauthorized
		if i >= failuresAtOnce {
			want = http.StatusTooManyRequests
		}
		if got := try("192.0.2.1", "Bearer rg_guess"); got != want {
			t.Errorf("guess %d: %d, want %d", i, got, want)
		}
	}
	if got := try("192.0.2.1", good); got != http.StatusOK {
		t.Errorf("a good token beside guesses: %d", got)
	}
	if got := try("192.0.2.2", good); got != http.StatusOK {
		t.Errorf("another address waits: %d", got)
	}
	now = now.Add(failureEvery)
	if got := try("192.0.2.1", "Bearer rg_guess"); got != http.StatusUnauthorized {
		t.Errorf("a guess later: %d", got)
	}
	if len(told) != failuresAtOnce+1 || told[0].(event.LoginFailed).Address != netip.MustParseAddr("192.0.2.1") {
		t.Errorf("%d are told: %+v", len(told), told)
	}
	for i := range failuresAtOnce { // each with another address of one /64
		try("2001:db8::"+string(rune('1'+i)), "Basic YTpi")
	}
	if got := try("2001:db8::abcd", "Bearer rg_guess"); got != http.StatusTooManyRequests {
		t.Errorf("a neighbour in a /64: %d", got)
	}
	if n := l.failing.Len(); n != 2 {
		t.Errorf("%d addresses are known", n)
	}
}

// What a browser was led here for by another name, or by another site, is refused.
func TestForUs(t *testing.T) {
	t.Parallel()
	h := api.ForUs(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), names(netip.MustParseAddr("::1"), settings.API{Names: nil}))
	for _, c := range []struct {
		method, host, origin, site string
		want                       int
	}{
		{"GET", "[::1]:9470", "", "", 200}, {"GET", "LOCALHOST", "", "", 200}, {"GET", "localhost.:9470", "", "", 200}, {"GET", "evil.example", "", "", 421},
		{"GET", "", "", "", 421}, {"GET", "127.0.0.1", "", "", 421}, {"GET", "[::2]:9470", "", "", 421}, {"GET", "localhost.evil.example:9470", "", "", 421},
		{"POST", "localhost:9470", "", "", 200}, {"POST", "localhost:9470", "http://localhost:9470", "same-origin", 200},
		{"POST", "localhost:9470", "https://evil.example", "", 403}, {"POST", "localhost:9470", "", "cross-site", 403}, {"GET", "localhost:9470", "https://evil.example", "cross-site", 200},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, "/v1/reload", http.NoBody)
		r.Host = c.host
		for key, value := range map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site} {
			if value != "" {
				r.Header.Set(key, value)
			}
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != c.want {
			t.Errorf("%+v: %d %s", c, w.Code, strings.TrimSpace(w.Body.String()))
		}
	}
}

// Nobody takes all connections.
func TestLimitListener(t *testing.T) {
	t.Parallel()
	c := newLimitListener(nil)
	one := netip.MustParseAddr("192.0.2.1")
	for i := range mostOfOne + 1 {
		if got := c.enter(one); got != (i < mostOfOne) {
			t.Fatalf("connection %d of one address: %v", i, got)
		}
	}
	a := netip.MustParseAddr("198.51.100.0")
	for i := mostOfOne; i < mostConnections; i++ {
		if a = a.Next(); !c.enter(a) {
			t.Fatalf("connection %d is refused", i)
		}
	}
	if c.enter(a.Next()) {
		t.Error("there is no bound")
	}
	c.leave(one)
	if !c.enter(a.Next()) {
		t.Error("room that was left is not given")
	}
	for range mostOfOne - 1 {
		c.leave(one)
	}
	if _, known := c.of[one]; known {
		t.Error("who has gone is remembered")
	}
}
