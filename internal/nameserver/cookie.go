package nameserver

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/siphash"
)

const (
	clientCookie = 8          // octets, RFC 7873 §4.1
	serverCookie = 16         // octets of ours, RFC 9018 §4
	cookieRoom   = 4 + 8 + 16 // octets of the option
	cookieLife   = time.Hour  // since it was made (RFC 9018 §4.3)
	cookieAhead  = 5 * time.Minute
	cookieRenew  = time.Hour / 2 // from then on the reply has a fresh one
)

// CookieSecret is a key of DNS cookies. Whoever knows it can make any address
// look proved.
type CookieSecret [16]byte

// cookieOption is the COOKIE option of a question (RFC 7873 §4).
type cookieOption struct {
	present, malformed bool
	client             [clientCookie]byte
	server             [serverCookie]byte
	whole              bool // has a server cookie of the length that ours have
}

// read takes the option's data in: a client cookie, perhaps with a server cookie
// of 8 to 32 octets. Lengths that cannot be are FORMERR (RFC 7873 §5.2.2).
func (c *cookieOption) read(data []byte) {
	length := len(data) - clientCookie
	if c.present || length < 0 || length != 0 && (length < 8 || length > 32) {
		c.present, c.malformed = true, true
		return
	}
	c.present = true
	copy(c.client[:], data)
	c.whole = length == serverCookie
	copy(c.server[:], data[clientCookie:])
}

// cookies makes and checks server cookies. They prove that the asker receives
// what is sent to its address, as a TCP handshake does.
type cookies struct {
	secrets atomic.Pointer[[]CookieSecret] // the first makes cookies, all of them are good
	wall    func() time.Time
}

// newCookies takes the secrets as given, or makes one.
func newCookies(secrets []CookieSecret, wall func() time.Time) (*cookies, error) {
	c := &cookies{wall: wall}
	if c.wall == nil {
		c.wall = time.Now
	}
	if len(secrets) == 0 {
		secrets = make([]CookieSecret, 1)
		if _, err := rand.Read(secrets[0][:]); err != nil {
			return nil, fmt.Errorf("make the secret of the DNS cookies: %w", err)
		}
	}
	return c, c.use(secrets)
}

// use replaces the secrets.
func (c *cookies) use(secrets []CookieSecret) error {
	if len(secrets) == 0 || slices.Contains(secrets, CookieSecret{}) {
		return errors.New("a secret of the DNS cookies is all zeros or missing: make it of random octets")
	}
	secrets = slices.Clone(secrets)
	c.secrets.Store(&secrets)
	return nil
}

// check reports whether the asker's cookie is one of ours for its address, and
// returns the server cookie that the reply is to have.
func (c *cookies) check(option *cookieOption, asker netip.Addr) (proved bool, next [serverCookie]byte) {
	now, current, secrets := uint32(c.wall().Unix()), false, *c.secrets.Load()
	if option.whole && option.server[0] == 1 { // version; what is reserved is hashed
		for i := range secrets {
			made := c.make(&secrets[i], option, [8]byte(option.server[:8]), asker)
			good := subtle.ConstantTimeCompare(made[:], option.server[:]) == 1
			proved, current = proved || good, current || good && i == 0
		}
		// Signed, since timestamps go round (RFC 1982).
		age := time.Duration(int32(now-binary.BigEndian.Uint32(option.server[4:]))) * time.Second
		proved = proved && age <= cookieLife && age >= -cookieAhead
		if proved && current && age <= cookieRenew {
			return true, option.server
		}
	}
	head := [8]byte{0: 1}
	binary.BigEndian.PutUint32(head[4:], now)
	return proved, c.make(&secrets[0], option, head, asker)
}

// make writes version, reserved octets and time, and their hash with the client
// cookie and the asker's address (RFC 9018 §4.4).
func (c *cookies) make(secret *CookieSecret, option *cookieOption, head [8]byte, asker netip.Addr) (made [serverCookie]byte) {
	var data [clientCookie + 8 + 16]byte
	n := copy(data[:], option.client[:])
	n += copy(data[n:], head[:])
	if asker = asker.Unmap(); asker.Is4() {
		address := asker.As4()
		n += copy(data[n:], address[:])
	} else {
		address := asker.As16()
		n += copy(data[n:], address[:])
	}
	copy(made[:], head[:])
	binary.LittleEndian.PutUint64(made[8:], siphash.Sum((*[16]byte)(secret), data[:n]))
	return made
}

// appendOption writes the option of a reply.
func (c *cookieOption) appendOption(buf []byte, server *[serverCookie]byte) []byte {
	buf = binary.BigEndian.AppendUint16(buf, dns.EDNS0COOKIE)
	buf = binary.BigEndian.AppendUint16(buf, clientCookie+serverCookie)
	buf = append(buf, c.client[:]...)
	return append(buf, server[:]...)
}
