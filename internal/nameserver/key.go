package nameserver

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// leastSecret is the shortest secret of a key, in octets: half an HMAC-SHA256
// is what RFC 8945 §5.2.2.1 calls the least that a truncated one may have.
const leastSecret = 16

// keyAlgorithms are the algorithms that RFC 8945 §6 recommends, MUST and better.
var keyAlgorithms = map[string]string{
	"hmac-sha256": dns.HmacSHA256, "hmac-sha384": dns.HmacSHA384, "hmac-sha512": dns.HmacSHA512,
}

// Key signs messages between this server and others (TSIG, RFC 8945).
type Key struct {
	name      model.Name
	algorithm string // as the library calls it
	secret    string // base64
}

// NewKey makes a key of its name, an algorithm such as "hmac-sha256" and the
// secret in base64, as tsig-keygen and keymgr print them.
func NewKey(name model.Name, algorithm, secret string) (Key, error) {
	if checked, err := model.ParseName(string(name)); err != nil || checked != name {
		return Key{}, fmt.Errorf("key's name %q is not a canonical name: use model.ParseName", name)
	}
	known, ok := keyAlgorithms[algorithm]
	if !ok {
		return Key{}, fmt.Errorf("key %s has the algorithm %q: use hmac-sha256, hmac-sha384 or hmac-sha512", name, algorithm)
	}
	octets, err := base64.StdEncoding.DecodeString(secret)
	if err != nil {
		return Key{}, fmt.Errorf("the secret of key %s is not base64", name) // the cause would show it
	}
	if len(octets) < leastSecret {
		return Key{}, fmt.Errorf("the secret of key %s has %d octets: at least %d", name, len(octets), leastSecret)
	}
	return Key{name, known, secret}, nil
}

// Name returns the key's name.
func (k Key) Name() model.Name { return k.name }

// String keeps the secret out of logs.
func (k Key) String() string { return "key " + string(k.name) }

// GoString is String, for %#v.
func (k Key) GoString() string { return k.String() }

// keys are the keys by name.
type keys map[model.Name]Key

func newKeys(list []Key) (keys, error) {
	ring := keys{}
	for _, key := range list {
		if _, twice := ring[key.name]; twice || key.name == "" {
			return nil, fmt.Errorf("key %q is there twice, or was not made by NewKey", key.name)
		}
		ring[key.name] = key
	}
	return ring, nil
}

// serve reports a zone that names a key which is not there.
func (k keys) serve(zones []Zone) error {
	for _, z := range zones {
		named := slices.Clone(z.Updaters)
		for _, secondary := range z.Secondaries {
			if !secondary.Address.IsValid() || secondary.Address.Port() == 0 {
				return fmt.Errorf("zone %s has a secondary without an address and port", z.Name)
			}
			named = append(named, secondary.Key)
		}
		for _, name := range named {
			if _, ok := k[name]; !ok {
				return fmt.Errorf("zone %s names the key %q, which is not there", z.Name, name)
			}
		}
	}
	return nil
}

// signature is what a good signature leaves for signing the reply.
type signature struct {
	key  Key
	mac  string // of the message before this one
	more bool   // not the first reply to the request: only times are signed with it (RFC 8945 §5.3.1)
}

const signatureFudge = 300 // seconds that clocks may differ by, RFC 8945 §10

// verify checks the TSIG record of a request. On failure the rejection is the
// TSIG record of the reply (RFC 8945 §5.2); its rcode is NOTAUTH.
func (k keys) verify(message []byte, tsig *dns.TSIG) (s signature, rejection *dns.TSIG) {
	reject := func(code uint16) (signature, *dns.TSIG) { return signature{}, rejected(tsig, code) }
	key, ok := k[model.Name(dns.CanonicalName(tsig.Hdr.Name))]
	if !ok || dns.CanonicalName(tsig.Algorithm) != key.algorithm {
		return reject(dns.RcodeBadKey)
	}
	// The library changes what it checks.
	err := dns.TsigVerify(slices.Clone(message), key.secret, "", false)
	switch {
	case errors.Is(err, dns.ErrTime):
		return reject(dns.RcodeBadTime)
	case err != nil:
		return reject(dns.RcodeBadSig)
	case tsig.Fudge > signatureFudge: // by which a message would be good for longer than it is remembered
		return reject(dns.RcodeBadTime)
	}
	return signature{key: key, mac: tsig.MAC}, nil
}

// rejected is the TSIG record that says what is wrong with another.
func rejected(tsig *dns.TSIG, code uint16) *dns.TSIG {
	return &dns.TSIG{
		Hdr:       dns.RR_Header{Name: tsig.Hdr.Name, Rrtype: dns.TypeTSIG, Class: dns.ClassANY},
		Algorithm: tsig.Algorithm, TimeSigned: tsig.TimeSigned, Fudge: tsig.Fudge, Error: code,
	}
}

// sign appends the signed message to buf. A following message of the same
// reply is signed with this one.
func (s *signature) sign(buf []byte, m *dns.Msg) ([]byte, error) {
	m.Compress = true
	m.SetTsig(string(s.key.name), s.key.algorithm, signatureFudge, time.Now().Unix())
	wire, mac, err := dns.TsigGenerate(m, s.key.secret, s.mac, s.more)
	if err != nil {
		return nil, fmt.Errorf("sign a message with %s: %w", s.key, err)
	}
	s.mac, s.more = mac, true
	return append(buf, wire...), nil
}
