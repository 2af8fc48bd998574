package server

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"time"

	"github.com/realmgate/realmgate/internal/nameserver"
)

// cookiesLast is how long cookies are made with one secret (RFC 9018 section 5). With the one before
// it they stay good for as long, which is more than the hour that they live.
const cookiesLast = 24 * time.Hour

// cookies are the secrets of DNS cookies.
type cookies struct {
	current, before nameserver.CookieSecret // before is current where there was none
	made            time.Time               // when current was
}

func newCookies(now time.Time) *cookies {
	c := &cookies{made: now}
	_, _ = rand.Read(c.current[:]) // never fails
	c.before = c.current
	return c
}

// due also where the clock was put back.
func (c *cookies) due(now time.Time) bool {
	age := now.Sub(c.made)
	return age >= cookiesLast || age < -cookiesLast
}

func (c *cookies) renewed(now time.Time) *cookies {
	next := newCookies(now)
	next.before = c.current
	return next
}

// list has the one first that makes cookies; both are good.
func (c *cookies) list() []nameserver.CookieSecret {
	return []nameserver.CookieSecret{c.current, c.before}
}

// bytes are both secrets, and seconds since 1970.
func (c *cookies) bytes() []byte {
	kept := append(append([]byte(nil), c.current[:]...), c.before[:]...)
	return binary.BigEndian.AppendUint64(kept, uint64(c.made.Unix()))
}

// readCookies reads bytes; earlier daemons kept one secret and no time.
func readCookies(kept []byte, now time.Time) (c *cookies, ok bool) {
	c = &cookies{made: now}
	before := kept[copy(c.current[:], kept):]
	made := before[copy(c.before[:], before):]
	switch {
	case len(kept) == len(c.current):
		c.before = c.current
	case len(made) == 8:
		c.made = time.Unix(int64(binary.BigEndian.Uint64(made)), 0)
	default:
		return nil, false
	}
	return c, true
}

// keptCookies are those that the store has, or new ones that it keeps: clients' cookies stay good over a restart.
// Without a disk they are good for this process.
func (s *Service) keptCookies(now time.Time) *cookies {
	kept, err := keptName(s.Store, cookieKey)
	if c, ok := readCookies(kept, now); ok && err == nil {
		return c
	}
	c := newCookies(now)
	s.keepCookies(c, err)
	return c
}

func (s *Service) keepCookies(c *cookies, before ...error) {
	err := errors.Join(append(before, s.Store.Change(namesBucket, map[string][]byte{cookieKey: c.bytes()}, nil))...)
	if err != nil {
		s.Log.Warn("DNS cookie secret not stored", "hint", "resolvers get new cookies after a restart", "error", err)
	}
}
