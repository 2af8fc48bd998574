package nameserver

import (
	"encoding/binary"

	"github.com/miekg/dns"
)

// reason is an extended DNS error (RFC 8914): why there is no answer. The zero
// value says nothing. The text is for people and is left out where it does not
// fit, then the code too.
type reason struct {
	code uint16
	text string
}

// Why questions get no answer. Code 0, "other", is for what RFC 8914 has no code
// for; its meaning is its text.
var (
	reasonExhausted   = reason{dns.ExtendedErrorCodeOther, "no pool address is free, ask again later"}
	reasonFailed      = reason{dns.ExtendedErrorCodeOther, "the address could not be lent"}
	reasonOverloaded  = reason{dns.ExtendedErrorCodeOther, "too many questions wait for upstream"}
	reasonWaitLimit   = reason{dns.ExtendedErrorCodeProhibited, "too many questions of this asker wait for upstream"}
	reasonLoop        = reason{dns.ExtendedErrorCodeOther, "the CNAMEs of this name go in circles"}
	reasonRebind      = reason{dns.ExtendedErrorCodeBlocked, "an answer from outside held an address inside (dns.rebind_domain_ok)"}
	reasonStranger    = reason{dns.ExtendedErrorCodeProhibited, "only for hosts inside"}
	reasonRefused     = reason{dns.ExtendedErrorCodeProhibited, "refused by a quota or the policy"}
	reasonUnsigned    = reason{dns.ExtendedErrorCodeProhibited, "only with a key"}
	reasonOutside     = reason{dns.ExtendedErrorCodeNotAuthoritative, "no zone of this server"}
	reasonUnsupported = reason{dns.ExtendedErrorCodeNotSupported, "class, type or operation not served"}
)

func (r reason) isZero() bool { return r == reason{} }

// appendOption writes the reason, without its text where that takes more than
// room octets, and nothing where the code does.
func (r reason) appendOption(buf []byte, room int) []byte {
	const least = 4 + 2 // option code and length, info code
	if r.isZero() || room < least {
		return buf
	}
	text := r.text
	if len(text) > room-least {
		if r.code == dns.ExtendedErrorCodeOther {
			return buf // means nothing by itself
		}
		text = ""
	}
	buf = binary.BigEndian.AppendUint16(buf, dns.EDNS0EDE)
	buf = binary.BigEndian.AppendUint16(buf, uint16(2+len(text)))
	buf = binary.BigEndian.AppendUint16(buf, r.code)
	return append(buf, text...)
}
