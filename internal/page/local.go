package page

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

// Local is the page at a loopback address of this machine, for who has its link.
type Local struct {
	listener net.Listener
	site     *Site
	handler  http.Handler
	log      *slog.Logger
}

// NewLocal serves the page at a listener, as who gateway answers for: whoever the command line belongs to.
func NewLocal(l net.Listener, gateway http.Handler, log *slog.Logger) *Local {
	site := New(Options{Now: time.Now})
	at := netip.MustParseAddrPort(l.Addr().String()).Addr() // it has the form that net writes
	stranger := func(*http.Request) (api.Caller, error) {
		return api.Caller{}, api.Fail(http.StatusUnauthorized, api.WithRemedy(errors.New("the request has no cookie of the page"), "open the link of realmgate page"))
	}
	h := site.Handler(stranger, func(who api.Identify) http.Handler { return let(who, gateway) })
	return &Local{l, site, api.ForUs(h, []string{at.String(), "localhost"}), log}
}

// let lets through who is known.
func let(who api.Identify, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := who(r); err != nil {
			api.Refuse(w, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Link is where one may enter, once, within a minute.
func (l *Local) Link() string {
	return "http://" + l.listener.Addr().String() + l.site.Link(api.Caller{Kind: "link"})
}

// Serve serves until ctx ends.
func (l *Local) Serve(ctx context.Context) error {
	return api.ServeRemote(ctx, l.listener, l.handler, l.log)
}
