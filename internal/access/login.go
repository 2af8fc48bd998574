package access

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"

	"github.com/realmgate/realmgate/internal/access/settings"
	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/events/event"
)

// Failed logins: so many at once and one each time may an address have, and so many addresses are known.
const (
	failuresAtOnce = 5
	failureEvery   = 10 * time.Second
	mostFailing    = 4096
)

var (
	errNobody   = errors.New("the request names no token, and no certificate of a client came with it")
	errNoClient = errors.New("no name of the certificate is one of api.clients")
	errTooMany  = errors.New("too many logins have failed from there")
	errWrongHow = errors.New("Authorization: only Bearer and a token are known here") //nolint:staticcheck // the header's name
	tokenRemedy = "make a token at the gateway by realmgate token create, and send it as Authorization: Bearer TOKEN"
	laterRemedy = "try again later"
	bearer      = "Bearer "
)

// Events hears of failed logins.
type Events interface{ Emit(event.Event) }

// logins say who asks over TCP.
type logins struct {
	tokens *tokens
	events Events
	log    *slog.Logger
	now    func() time.Time

	mutex   sync.Mutex // guards failing
	failing *simplelru.LRU[netip.Addr, *rate.Limiter]
}

func newLogins(t *tokens, events Events, log *slog.Logger) *logins {
	failing, _ := simplelru.NewLRU[netip.Addr, *rate.Limiter](mostFailing, nil) // fails only for sizes below 1
	return &logins{tokens: t, events: events, log: log, now: time.Now, failing: failing}
}

// identify says who asks at a listener whose clients have names, as long as they hold.
func (l *logins) identify(holds context.Context, clients []settings.Client) api.Identify {
	return func(r *http.Request) (api.Caller, error) {
		caller, err := l.login(holds, r, clients)
		if err == nil { // whoever fails beside it
			return caller, nil
		}
		from := networkOf(r.RemoteAddr)
		switch {
		case errors.Is(err, errNobody): // who does not know that there are tokens guesses none
		case !l.may(from):
			return caller, api.Fail(http.StatusTooManyRequests, api.WithRemedy(errTooMany, laterRemedy))
		default:
			l.fail(from, err)
		}
		return caller, api.Fail(http.StatusUnauthorized, api.WithRemedy(err, tokenRemedy))
	}
}

func (l *logins) login(holds context.Context, r *http.Request, clients []settings.Client) (api.Caller, error) {
	if given := r.Header.Get("Authorization"); given != "" {
		secret, is := strings.CutPrefix(given, bearer)
		if !is {
			return api.Caller{}, errWrongHow
		}
		return l.tokens.of(secret, l.now())
	}
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return api.Caller{}, errNobody
	}
	names := r.TLS.PeerCertificates[0].DNSNames
	for _, c := range clients {
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, strings.TrimSuffix(c.Name.String(), ".")) }) {
			var role api.Role
			err := role.UnmarshalText([]byte(c.Role)) // it was read as one of them
			may, end := context.WithDeadline(r.Context(), r.TLS.PeerCertificates[0].NotAfter)
			stop := context.AfterFunc(holds, end)
			context.AfterFunc(r.Context(), func() { stop(); end() })
			return api.Caller{Role: role, Kind: "certificate", Name: c.Name.String(), May: may}, err
		}
	}
	return api.Caller{}, errNoClient
}

// may reports whether an address may try.
func (l *logins) may(from netip.Addr) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	limiter, known := l.failing.Get(from)
	return !known || limiter.TokensAt(l.now()) >= 1
}

// fail notes that a login failed, and tells of it.
func (l *logins) fail(from netip.Addr, why error) {
	l.mutex.Lock()
	limiter, known := l.failing.Get(from)
	if !known {
		limiter = rate.NewLimiter(rate.Every(failureEvery), failuresAtOnce)
		l.failing.Add(from, limiter)
	}
	limiter.AllowN(l.now(), 1)
	l.mutex.Unlock()
	l.log.Warn("login failed", "address", from, "error", why)
	l.events.Emit(event.LoginFailed{Address: from, Error: event.Text(why)})
}

// networkOf is from where somebody comes, an address of IPv4 or a /64: who has one address of it has all.
func networkOf(remote string) netip.Addr {
	at, _ := netip.ParseAddrPort(remote) // it has the form that net writes
	a := at.Addr().Unmap().WithZone("")
	if a.Is6() {
		a = netip.PrefixFrom(a, 64).Masked().Addr()
	}
	return a
}
