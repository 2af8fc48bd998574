package bugreport

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"regexp"
	"strings"
)

// Anonymizer writes addresses and names as others. Two addresses that share so many bits share as many afterwards, and the
// same is always written in the same way, within what one key has written.
type Anonymizer struct {
	key       []byte
	addresses map[netip.Addr]netip.Addr
	names     *regexp.Regexp // that are known
}

// NewAnonymizer makes one that knows names of a configuration beside those that end with a dot. Nobody keeps the key.
func NewAnonymizer(key []byte, names []string) *Anonymizer {
	a := &Anonymizer{key: key, addresses: map[netip.Addr]netip.Addr{}}
	var quoted []string
	for _, n := range names {
		if n = strings.TrimSuffix(strings.TrimSpace(n), "."); n != "" {
			quoted = append(quoted, regexp.QuoteMeta(n))
		}
	}
	pattern := `(?:[a-z0-9_*-]+\.)+[a-z][a-z0-9-]*\.`
	if len(quoted) > 0 {
		pattern += `|\b(?:[a-z0-9_*-]+\.)*(?:` + strings.Join(quoted, "|") + `)\b\.?`
	}
	a.names = regexp.MustCompile(`(?i)` + pattern)
	return a
}

var (
	address4 = regexp.MustCompile(`\b(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?\b`)
	address6 = regexp.MustCompile(`(?i)(?:[0-9a-f]{1,4}:|:)(?:[0-9a-f]{0,4}:){1,6}[0-9a-f]{0,4}(?:/\d{1,3})?`)
	address2 = regexp.MustCompile(`(?i)\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b`)
)

// Clean is one.
func (a *Anonymizer) Clean(text []byte) []byte {
	s := a.names.ReplaceAllStringFunc(string(text), a.name)
	s = address2.ReplaceAllStringFunc(s, func(mac string) string { // before IPv6, which it looks like
		h := a.hash("mac", strings.ToLower(mac))
		return "02-" + strings.Join([]string{h[0:2], h[2:4], h[4:6], h[6:8], h[8:10]}, "-")
	})
	s = address4.ReplaceAllStringFunc(s, a.address)
	return []byte(address6.ReplaceAllStringFunc(s, a.address))
}

func (a *Anonymizer) hash(kind, text string) string {
	h := hmac.New(sha256.New, a.key)
	_, _ = h.Write([]byte(kind + "\x00" + text)) // a hash fails never
	return hex.EncodeToString(h.Sum(nil))
}

// name hashes each label, so that names of one zone stay of one.
func (a *Anonymizer) name(name string) string {
	labels := strings.Split(name, ".")
	for i, l := range labels {
		if l != "" && l != "*" {
			labels[i] = "n" + a.hash("label", strings.ToLower(l))[:8]
		}
	}
	return strings.Join(labels, ".")
}

// address is another one, or network; those that mean the same everywhere stay.
func (a *Anonymizer) address(text string) string {
	if p, err := netip.ParsePrefix(text); err == nil {
		if same(p.Addr()) {
			return text
		}
		to := netip.PrefixFrom(a.of(p.Addr()), p.Bits())
		if p == p.Masked() {
			to = to.Masked()
		}
		return to.String()
	}
	if from, err := netip.ParseAddr(text); err == nil && !same(from) {
		return a.of(from).String()
	}
	return text
}

// same are unspecified, loopback and masks.
func same(a netip.Addr) bool {
	return a.IsUnspecified() || a.IsLoopback() || a.Is4() && a.As4()[0] == 255
}

// of flips each bit, or not, by a hash of the bits before it.
func (a *Anonymizer) of(from netip.Addr) netip.Addr {
	from = from.Unmap()
	if to, known := a.addresses[from]; known {
		return to
	}
	octets := from.AsSlice()
	flipped := make([]byte, len(octets))
	for bit := range len(octets) * 8 {
		prefix, _ := from.Prefix(bit) // of a length that it has
		mask := byte(0x80 >> (bit % 8))
		if flips := a.hash("address", prefix.String())[0] >= '8'; octets[bit/8]&mask != 0 != flips {
			flipped[bit/8] |= mask
		}
	}
	to, _ := netip.AddrFromSlice(flipped)
	a.addresses[from] = to
	return to
}
