package page

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

// clock is a time that tests move.
type clock struct {
	mutex sync.Mutex
	now   time.Time
}

func (c *clock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = c.now.Add(d)
}

// served is a site with an API that says who asks, and a browser.
type served struct {
	*Site
	t     *testing.T
	url   string
	jar   http.CookieJar
	clock *clock
	may   context.Context // of the token
	end   context.CancelFunc
}

func serve(t *testing.T, tokens bool) *served {
	t.Helper()
	s := &served{t: t, clock: &clock{now: time.Unix(1_700_000_000, 0)}}
	s.may, s.end = context.WithCancel(t.Context())
	s.Site = New(Options{Tokens: tokens, Now: s.clock.Now})
	who := func(r *http.Request) (api.Caller, error) {
		if r.Header.Get("Authorization") == "Bearer rg_good" {
			return api.Caller{Role: api.Operate, Kind: "token", Name: "ann", May: s.may}, nil
		}
		return api.Caller{}, api.Fail(http.StatusUnauthorized, errors.New("there is no such token"))
	}
	h := s.Handler(who, func(identify api.Identify) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, err := identify(r)
			if err != nil {
				api.Refuse(w, err)
				return
			}
			text := map[string]string{
				"/v1/caller":   `{"role":"` + c.Role.String() + `","kind":"` + c.Kind + `","name":"` + c.Name + `"}`,
				"/v1/status":   `{"health":"All is <b>well</b>","instance":"<script>alert(1)</script>","warnings":[]}`,
				"/v1/pool/map": `{"ranges":[],"states":"ffboocr"}`,
			}[r.URL.Path]
			if text == "" {
				api.Refuse(w, api.Fail(http.StatusNotFound, errors.New("there is no "+r.URL.Path)))
				return
			}
			_, _ = io.WriteString(w, text)
		})
	})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	s.url = server.URL
	s.jar, _ = cookiejar.New(nil)
	return s
}

// ask is a request of the browser, and what it is answered; it follows no redirect.
func (s *served) ask(method, path string, form url.Values) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	c := http.Client{Jar: s.jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := c.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, string(text)
}

// want asks for a path by GET, and wants a status and some text.
func (s *served) want(when, path string, status int, text string) {
	s.t.Helper()
	if got, body := s.ask(http.MethodGet, path, nil); got.StatusCode != status || !strings.Contains(body, text) {
		s.t.Errorf("%s: %s: %d, want %d with %q:\n%s", when, path, got.StatusCode, status, text, body)
	}
}

// A link lets in once, within a minute, who then has a cookie that no script and no other site can use, for twelve hours.
func TestLink(t *testing.T) {
	t.Parallel()
	s := serve(t, false)
	s.want("at first", "/", http.StatusUnauthorized, "realmgate page")
	s.want("at first", "/v1/status", http.StatusUnauthorized, "")
	link, other := s.Link(api.Caller{Role: api.Read, Kind: "link"}), s.Link(api.Caller{Role: api.Read, Kind: "link"})
	for _, guess := range []string{"/enter", "/enter?key=", link[:len(link)-1], link + "A"} {
		s.want("a guess", guess, http.StatusForbidden, "has been used")
	}
	response, _ := s.ask(http.MethodGet, link, nil)
	cookie := response.Header.Get("Set-Cookie")
	for _, want := range []string{"realmgate-", "; Path=/;", "Max-Age=43200", "HttpOnly", "SameSite=Strict"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie is %s, without %s", cookie, want)
		}
	}
	s.want("with the cookie", "/", http.StatusOK, "you are link , role read")
	s.want("with the cookie", "/v1/caller", http.StatusOK, `"read"`)
	s.want("again", link, http.StatusForbidden, "has been used")
	s.clock.pass(time.Minute)
	s.want("too late", other, http.StatusForbidden, "older than a minute")
	s.clock.pass(12*time.Hour - time.Minute - time.Second)
	s.want("the same day", "/", http.StatusOK, "")
	s.clock.pass(time.Second)
	s.want("after twelve hours", "/", http.StatusUnauthorized, "")
	if response, _ := s.ask(http.MethodPost, "/login", url.Values{"token": {"rg_good"}}); response.StatusCode != http.StatusNotFound {
		t.Errorf("a token is taken: %d", response.StatusCode)
	}
}

// A token that is typed lets in for as long as it holds.
func TestTokenLogin(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	s.want("at first", "/", http.StatusUnauthorized, `name="token"`)
	if response, text := s.ask(http.MethodPost, "/login", url.Values{"token": {"rg_bad"}}); response.StatusCode != http.StatusUnauthorized || !strings.Contains(text, "no such token") {
		t.Errorf("a bad one: %d %s", response.StatusCode, text)
	}
	enter := func() {
		t.Helper()
		if response, _ := s.ask(http.MethodPost, "/login", url.Values{"token": {"rg_good"}}); response.StatusCode != http.StatusOK {
			t.Errorf("a good one: %d", response.StatusCode)
		}
		s.want("with the cookie", "/", http.StatusOK, "you are token ann, role operate")
	}
	enter()
	if response, _ := s.ask(http.MethodPost, "/logout", nil); response.StatusCode != http.StatusSeeOther {
		t.Errorf("logout: %d", response.StatusCode)
	}
	s.want("logged out", "/v1/caller", http.StatusUnauthorized, "")
	enter()
	s.end()
	s.want("the token is revoked", "/", http.StatusUnauthorized, "")
}

// A cookie of a visit that was ended is nobody's, also where somebody has kept it.
func TestVisitsAreBounded(t *testing.T) {
	t.Parallel()
	at := &clock{now: time.Unix(0, 0)}
	v := newVisits(at.Now)
	first := v.begin(api.Caller{Kind: "token", Name: "a"})
	other := v.begin(api.Caller{Kind: "token", Name: "b"})
	for range mostOfOne {
		at.pass(time.Second)
		v.begin(api.Caller{Kind: "token", Name: "a"})
	}
	if _, known := v.caller(first); known {
		t.Error("one caller has no bound")
	}
	if _, known := v.caller(other); !known || len(v.of) != mostOfOne+1 {
		t.Errorf("another's visit is gone, %d are kept", len(v.of))
	}
	for i := range 2 * mostVisits {
		at.pass(time.Second)
		v.begin(api.Caller{Kind: "token", Name: strings.Repeat("x", i%60) + time.Duration(i).String()})
	}
	if len(v.of) != mostVisits {
		t.Errorf("%d visits are kept", len(v.of))
	}
	at.pass(visitTime)
	v.begin(api.Caller{})
	if len(v.of) != 1 {
		t.Errorf("%d are kept of those that are over", len(v.of))
	}
}

// Browsers are told what a page may do, and what others write is text.
func TestPolicy(t *testing.T) {
	t.Parallel()
	s := serve(t, false)
	s.ask(http.MethodGet, s.Link(api.Caller{Role: api.Admin}), nil)
	for _, path := range []string{"/", "/v1/status", "/nowhere", "/enter", assets().folder + "/page.js"} {
		response, _ := s.ask(http.MethodGet, path, nil)
		csp := response.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy lacks %s: %s", path, want, csp)
			}
		}
		if strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %s", path, csp)
		}
	}
	_, text := s.ask(http.MethodGet, "/", nil)
	for _, want := range []string{"&lt;script&gt;alert(1)", "All is &lt;b&gt;well"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "style=") || strings.Contains(text, "<script>") {
		t.Errorf("the page has what its policy forbids:\n%s", text)
	}
}

// Each screen has a path, a key of its own, a template and a script.
func TestScreens(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	for _, one := range screens() {
		if one.Key == "" || keys[one.Key] {
			t.Errorf("%s: its key %q is not its own", one.Name, one.Key)
		}
		keys[one.Key] = true
		if templates.Lookup(one.Name) == nil {
			t.Errorf("%s has no template", one.Name)
		}
		if _, ok := assets().of["screen/"+one.Name+".js"]; !ok {
			t.Errorf("%s has no script", one.Name)
		}
	}
}
