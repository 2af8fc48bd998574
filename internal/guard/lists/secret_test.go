package lists

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// A password in an address is not for the log.
func TestAPasswordIsNotTold(t *testing.T) {
	p := newPublisher(t)
	p.does(redirects("/"))
	source := strings.Replace(p.URL, "http://", "http://user:secret@", 1)
	f := newFeed(t, source, newStore(t))
	_, err := f.Refresh(t.Context(), now)
	if s := f.Status(clockStart); err == nil || strings.Contains(err.Error()+s.Source+s.Error, "secret") || !strings.Contains(s.Source, "user") {
		t.Errorf("%v, %+v", err, s)
	}
}

// A key in the query is told to its server: not to the one that it redirects to, and in no
// error, however the fetch fails.
func TestAQueryIsNotTold(t *testing.T) {
	p, other := newPublisher(t), newPublisher(t)
	var seen http.Header
	other.does(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		says(text(10))(w, r)
	})
	p.does(redirects(other.URL))
	for _, address := range []string{p.URL + "/?key=secret", strings.Replace(p.URL, "http://", "http://user:secret@", 1) + "/?key=secret"} {
		if a, err := NewFetcher("", patient).Fetch(t.Context(), address, Validators{}); err != nil || string(a.Body) != text(10) {
			t.Fatalf("%q, %v", a.Body, err)
		}
		for name, values := range seen {
			if name == "Referer" || strings.Contains(strings.Join(values, " "), "secret") {
				t.Errorf("the other server was told %s: %v", name, values)
			}
		}
	}

	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	secured := secure(t, NewFetcher("", patient), false, says(text(10)))
	for name, c := range map[string]struct {
		url  string
		does http.HandlerFunc
		says string
	}{
		"nobody there":       {closed.URL, nil, "refused"},
		"nobody vouches":     {secured.URL, nil, "certificate"},
		"closed":             {p.URL, raw("", false), "EOF"},
		"reset":              {p.URL, raw("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n"+text(60), true), "reset"},
		"too many redirects": {p.URL, redirects("/?key=secret"), "more than 5"},
		"404":                {p.URL, status(404), "404 Not Found"},
	} {
		if c.does != nil {
			p.does(c.does)
		}
		f := newFeed(t, c.url+"/?key=secret", newStore(t))
		_, err := f.Refresh(t.Context(), now)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
			continue
		}
		host, _ := url.Parse(c.url)
		if said := err.Error() + f.Status(clockStart).Error; strings.Contains(said, "secret") || strings.Contains(said, host.Scheme+"://") {
			t.Errorf("%s: the error tells the address: %s", name, said)
		}
	}
}
