package lists

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatAServerSeesOfUs(t *testing.T) {
	p := newPublisher(t)
	f := NewFetcher("realmgate-test/1", patient)
	var seen *http.Request
	p.does(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		w.Header().Set("Set-Cookie", "id=1; Path=/")
		w.Header().Set("ETag", `W/"a"`)
		w.Header().Set("Last-Modified", "Tue, 15 Nov 1994 12:45:26 GMT")
		if r.Header.Get("If-None-Match") == `W/"a"` && r.Header.Get("If-Modified-Since") != "" {
			w.Header().Del("Last-Modified")
			w.Header().Set("ETag", `W/"b"`)
			w.WriteHeader(http.StatusNotModified)
		}
	})
	first, err := f.Fetch(t.Context(), p.URL, Validators{})
	if err != nil || first.Unchanged {
		t.Fatalf("%+v, %v", first, err)
	}
	h := seen.Header
	if h.Get("User-Agent") != "realmgate-test/1" || h.Get("Accept-Encoding") != "gzip" || h.Get("If-None-Match")+h.Get("If-Modified-Since") != "" {
		t.Errorf("asked first with %v", h)
	}
	second, err := f.Fetch(t.Context(), p.URL, first.Validators)
	if err != nil || !second.Unchanged {
		t.Fatalf("%+v, %v", second, err)
	}
	if seen.Header.Get("Cookie") != "" || len(seen.Header) != 5 {
		t.Errorf("asked again with %v", seen.Header)
	}
	if want := (Validators{`W/"b"`, first.Validators.Modified}); second.Validators != want {
		t.Errorf("to ask with %+v, want %+v", second.Validators, want)
	}
}

func TestNothingIsUnchangedThatWeDoNotHave(t *testing.T) {
	p := newPublisher(t)
	p.does(status(http.StatusNotModified))
	var status *StatusError
	if a, err := NewFetcher("", patient).Fetch(t.Context(), p.URL, Validators{}); !errors.As(err, &status) || status.Status != 304 {
		t.Errorf("%+v, %v", a, err)
	}
}

// secure serves by TLS, and says how to trust it.
func secure(t *testing.T, f *Fetcher, http2 bool, act http.HandlerFunc) *httptest.Server {
	s := httptest.NewUnstartedServer(act)
	s.EnableHTTP2 = http2
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // a client that does not trust it is wanted
	s.StartTLS()
	t.Cleanup(s.Close)
	f.transport.TLSClientConfig = &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	return s
}

// with is the Fetcher with other limits.
func (f *Fetcher) with(l Limits) *Fetcher { return &Fetcher{l, f.agent, f.transport} }

func TestRedirects(t *testing.T) {
	plain := newPublisher(t)
	plain.does(says(text(10)))
	f := NewFetcher("", patient)
	var to string
	tls := secure(t, f, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/list" {
			says(text(10))(w, r)
			return
		}
		redirects(to)(w, r)
	})
	for _, c := range []struct {
		name, to string
		refused  bool
	}{
		{"from https to https", tls.URL + "/list", false},
		{"from https to http", plain.URL, true},
		{"to another kind of address", "ftp://192.0.2.1/list", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			to = c.to
			a, err := f.Fetch(t.Context(), tls.URL, Validators{})
			if c.refused != errors.Is(err, ErrRedirect) || !c.refused && string(a.Body) != text(10) {
				t.Errorf("%q, %v", a.Body, err)
			}
		})
	}
	t.Run("from http to https", func(t *testing.T) {
		plain.does(redirects(tls.URL + "/list"))
		if a, err := f.Fetch(t.Context(), plain.URL, Validators{}); err != nil || string(a.Body) != text(10) {
			t.Errorf("%q, %v", a.Body, err)
		}
	})
}

func TestAServerThatNobodyVouchesForIsNotTrusted(t *testing.T) {
	s := secure(t, NewFetcher("", patient), false, says(text(10)))
	var unknown *tls.CertificateVerificationError
	if _, err := NewFetcher("", patient).Fetch(t.Context(), s.URL, Validators{}); !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
}

// HTTP/2 needs no length to tell the end of a list from a break.
func TestHTTP2(t *testing.T) {
	f := NewFetcher("", patient)
	cut := false
	s := secure(t, f, true, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("asked by %s", r.Proto)
		}
		if r.URL.Path == "/stall" {
			stalls(text(10))(w, r)
			return
		}
		says(text(10))(w, r)
		_ = http.NewResponseController(w).Flush()
		if cut {
			panic(http.ErrAbortHandler)
		}
	})
	if a, err := f.Fetch(t.Context(), s.URL, Validators{}); err != nil || string(a.Body) != text(10) {
		t.Errorf("%q, %v", a.Body, err)
	}
	if _, err := f.with(stallSoon).Fetch(t.Context(), s.URL+"/stall", Validators{}); !errors.Is(err, ErrTimeout) {
		t.Errorf("a list that stalls: %v", err)
	}
	cut = true
	if a, err := f.Fetch(t.Context(), s.URL, Validators{}); err == nil {
		t.Errorf("a list that was cut: %q", a.Body)
	}
}

// The environment's proxy is read once in a process, and never taken for an address of
// this machine: a server in its place would hear nothing in any case.
func TestNoProxyIsUsed(t *testing.T) {
	if NewFetcher("", patient).transport.Proxy != nil {
		t.Error("there is a proxy")
	}
}

func TestRedirectsAreFew(t *testing.T) {
	p := newPublisher(t)
	asked := 0
	for _, c := range []struct {
		redirects int
		err       error
	}{{5, nil}, {6, ErrRedirect}} {
		asked = 0
		p.does(func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked > c.redirects {
				says(text(10))(w, r)
				return
			}
			redirects("/")(w, r)
		})
		if _, err := NewFetcher("", patient).Fetch(t.Context(), p.URL, Validators{}); !errors.Is(err, c.err) || asked != 6 {
			t.Errorf("%d redirects: asked %d times, %v", c.redirects, asked, err)
		}
	}
}

// slowReader gives a byte in a while.
type slowReader time.Duration

func (r slowReader) Read(p []byte) (int, error) {
	time.Sleep(time.Duration(r))
	return copy(p, "x"), nil
}

// Only silence is a stall: the whole time has a bound of its own.
func TestASlowButSteadyServerIsHeardOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, alive := watch(t.Context(), 15*time.Second)
		r := watched{slowReader(14 * time.Second), alive}
		for range 10 {
			_, _ = r.Read(make([]byte, 1)) // cannot fail
			synctest.Wait()
			if ctx.Err() != nil {
				t.Fatal(context.Cause(ctx))
			}
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), ErrTimeout) {
			t.Errorf("after 15 s of silence: %v", context.Cause(ctx))
		}
		alive.stop()
	})
}

func TestCheckURL(t *testing.T) {
	for address, want := range map[string]string{
		"http://lists.example/a":     "",
		"https://u:p@[2001:db8::1]/": "",
		"file:///etc/drop.txt":       "",
		"file://etc/drop.txt":        "want file:// and an absolute path",
		"/etc/passwd":                "want http://, https:// or file://",
		"ftp://u:secret@lists.test/": "ftp://u:xxxxx@lists.test/: want",
		"http:///a":                  "has no host",
		"http://:80/a":               "has no host",
		"http://a b/":                "is no URL",
		"":                           "want http://",
	} {
		err := CheckURL(address)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
		if _, fetched := NewFetcher("", patient).Fetch(ended(t), address, Validators{}); want != "" && (fetched == nil || fetched.Error() != err.Error()) {
			t.Errorf("%q: fetched, with %v", address, fetched)
		}
	}
}

// ended is a context in which nothing is done.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
