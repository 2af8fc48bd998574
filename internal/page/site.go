package page

import (
	"net/http"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

// Options are what a Site needs.
type Options struct {
	Tokens bool // whether one may log in by a token; else only by a link
	Now    func() time.Time
}

// Site is the page, wherever it is served. Call New.
type Site struct {
	Options
	visits *visits
	links  *links
}

// New makes one that nobody visits.
func New(o Options) *Site { return &Site{o, newVisits(o.Now), &links{now: o.Now}} }

// Handler is the page and, below it, the API that serve makes. who knows those who have no cookie of the page.
func (s *Site) Handler(who api.Identify, serve func(api.Identify) http.Handler) http.Handler {
	identify := s.visits.identify(who)
	v := &view{site: s, who: who, identify: identify, api: serve(identify)}
	mux := http.NewServeMux()
	for _, at := range []string{"/v1/", "/metrics", "/healthz", "/readyz"} {
		mux.Handle(at, v.api)
	}
	mux.HandleFunc("GET "+assetPath, serveAsset)
	mux.HandleFunc("GET /enter", v.enter)
	mux.HandleFunc("POST /login", v.login)
	mux.HandleFunc("POST /logout", v.logout)
	for _, one := range screens() {
		mux.HandleFunc("GET "+strings.TrimSuffix(one.Path, "/")+"/{$}", v.show(one))
		if one.Path != "/" {
			mux.HandleFunc("GET "+one.Path, v.show(one))
		}
	}
	mux.Handle("/", v.api) // which says what there is
	return guarded(mux)
}

// view is the page for those whom one API lets in.
type view struct {
	site     *Site
	who      api.Identify // without the page's own logins
	identify api.Identify // with them
	api      http.Handler
}

// policy lets a page load what is its own, and no text become script, markup or style, whoever wrote it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guarded adds what browsers need to know of each answer.
func guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		h.ServeHTTP(w, r)
	})
}
