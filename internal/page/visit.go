package page

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

const (
	visitTime    = 12 * time.Hour
	linkTime     = time.Minute
	secretLength = 32 // octets of chance

	mostVisits = 1024 // at a time, of all
	mostOfOne  = 32   // and of one caller
	mostLinks  = 16
)

// hash is what is kept of a secret. One as long as chance can be is found by nobody who tries, so that the hash may be quick.
type hash = [sha256.Size]byte

func mint() (secret string, of hash) {
	octets := make([]byte, secretLength)
	_, _ = rand.Read(octets) // never fails
	secret = base64.RawURLEncoding.EncodeToString(octets)
	return secret, sha256.Sum256([]byte(secret))
}

// visits are those who have logged in, by their cookies.
type visits struct {
	now   func() time.Time
	mutex sync.Mutex // guards what follows
	of    map[hash]*visit
}

// visit is one login.
type visit struct {
	api.Caller
	began, until time.Time
	end          context.CancelFunc
}

func newVisits(now func() time.Time) *visits { return &visits{now: now, of: map[hash]*visit{}} }

// begin lets a caller in for as long as it may ask, twelve hours at most, and returns its secret. Of one caller, and of all, the
// visit that began first ends where there are too many.
func (v *visits) begin(c api.Caller) (secret string) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	now := v.now()
	secret, of := mint()
	parent := c.May
	if parent == nil {
		parent = context.Background()
	}
	one := &visit{c, now, now.Add(visitTime), nil}
	one.May, one.end = context.WithTimeout(parent, visitTime)
	maps.DeleteFunc(v.of, func(_ hash, old *visit) bool { return !now.Before(old.until) || old.May.Err() != nil })
	v.make(mostOfOne, func(old *visit) bool { return old.Kind == c.Kind && old.Name == c.Name })
	v.make(mostVisits, func(*visit) bool { return true })
	v.of[of] = one
	return secret
}

// make makes room for one more among some.
func (v *visits) make(most int, counts func(*visit) bool) {
	n := 0
	var oldest hash
	for of, one := range v.of {
		if !counts(one) {
			continue
		}
		if n++; n == 1 || one.began.Before(v.of[oldest].began) {
			oldest = of
		}
	}
	if n >= most {
		v.of[oldest].end()
		delete(v.of, oldest)
	}
}

// caller is who has a secret.
func (v *visits) caller(secret string) (api.Caller, bool) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	one := v.of[sha256.Sum256([]byte(secret))]
	if one == nil || !v.now().Before(one.until) || one.May.Err() != nil {
		return api.Caller{}, false
	}
	return one.Caller, true
}

// leave ends a visit.
func (v *visits) leave(secret string) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	of := sha256.Sum256([]byte(secret))
	if one := v.of[of]; one != nil {
		one.end()
		delete(v.of, of)
	}
}

// identify knows who has a cookie; of others who says it.
func (v *visits) identify(who api.Identify) api.Identify {
	return func(r *http.Request) (api.Caller, error) {
		if cookie, err := r.Cookie(cookieName(r)); err == nil && r.Header.Get("Authorization") == "" {
			if c, known := v.caller(cookie.Value); known {
				return c, nil
			}
		}
		return who(r)
	}
}

// cookieName is that of the cookie. Browsers send it to all ports of a host: each has a name of its own, so that none takes another's
// place, and a page without a port of somebody's choice has an address of its own. The prefix has browsers
// take it over TLS alone (RFC 6265bis §4.1.3).
func cookieName(r *http.Request) string {
	name := "realmgate"
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		name += "-" + port
	}
	if r.TLS != nil {
		name = "__Host-" + name
	}
	return name
}

func cookie(r *http.Request, secret string, seconds int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // it is Secure where there is TLS
		Name: cookieName(r), Value: secret, Path: "/", MaxAge: seconds, Secure: r.TLS != nil, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// links are those that let in once.
type links struct {
	now   func() time.Time
	mutex sync.Mutex // guards what follows
	made  []link
}

type link struct {
	of     hash
	until  time.Time
	caller api.Caller
}

// make makes one that holds for a minute.
func (l *links) make(c api.Caller) (secret string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	secret, of := mint()
	l.made = append(l.made[max(0, len(l.made)+1-mostLinks):], link{of, l.now().Add(linkTime), c})
	return secret
}

// use takes the link of a secret, once.
func (l *links) use(secret string) (api.Caller, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	of := sha256.Sum256([]byte(secret))
	for i, one := range l.made {
		if one.of == of {
			l.made = append(l.made[:i], l.made[i+1:]...)
			return one.caller, l.now().Before(one.until)
		}
	}
	return api.Caller{}, false
}
