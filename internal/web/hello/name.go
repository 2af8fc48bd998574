package hello

import (
	"bytes"
	"net/netip"
)

// Limits of RFC 1035 §2.3.4, of names without the final dot.
const (
	maxName  = 253
	maxLabel = 63
)

// canonical is a name in lower case without a final dot, by the rules of
// model.ParseName. Addresses are ErrNoName: in TLS they are not allowed
// (RFC 6066 §3), and no host is registered by one.
func canonical(octets []byte) (string, error) {
	if bytes.IndexByte(octets, ':') >= 0 {
		if _, err := netip.ParseAddr(string(octets)); err == nil {
			return "", ErrNoName
		}
	}
	octets = bytes.TrimSuffix(octets, []byte("."))
	if len(octets) > maxName {
		return "", malformed("the name is longer than 253 octets")
	}
	var name [maxName]byte
	label, digits := 0, true // where the label begins, and whether it is all digits
	for i := 0; i <= len(octets); i++ {
		if i == len(octets) || octets[i] == '.' {
			switch length := i - label; {
			case length == 0 || length > maxLabel:
				return "", malformed("a label of the name is not 1 to 63 octets long")
			case octets[label] == '-' || octets[i-1] == '-':
				return "", malformed("a label of the name begins or ends with a hyphen")
			}
			if i == len(octets) {
				break
			}
			name[i] = '.'
			label, digits = i+1, true
			continue
		}
		c := octets[i]
		switch {
		case c >= '0' && c <= '9':
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
			digits = false
		case c >= 'a' && c <= 'z' || c == '-' || c == '_':
			digits = false
		default:
			return "", malformed("the name has characters other than letters, digits, hyphens and underscores")
		}
		name[i] = c
	}
	if digits { // no name ends in a number; 192.0.2.1 and 127.1 do (WHATWG URL §3.5)
		return "", ErrNoName
	}
	return string(name[:len(octets)]), nil
}

// authority is the name in host[:port] (RFC 3986 §3.2, without user information,
// as RFC 9110 §7.2 demands).
func authority(octets []byte) (string, error) {
	if len(octets) == 0 {
		return "", ErrNoName
	}
	host, port := octets, []byte(nil)
	if octets[0] == '[' {
		end := bytes.IndexByte(octets, ']')
		if end < 0 {
			return "", malformed("an address without its closing bracket")
		}
		host, port = octets[1:end], octets[end+1:]
		if address, err := netip.ParseAddr(string(host)); err != nil || !address.Is6() {
			return "", malformed("what is in brackets is no address")
		}
		if len(port) > 0 && port[0] != ':' {
			return "", malformed("what follows the bracket is no port")
		}
	} else if colon := bytes.IndexByte(octets, ':'); colon >= 0 {
		host, port = octets[:colon], octets[colon:]
	}
	if len(port) > len(":65535") || len(port) > 1 && bytes.ContainsFunc(port[1:], func(r rune) bool { return r < '0' || r > '9' }) {
		return "", malformed("the port is no number")
	}
	return canonical(host)
}
