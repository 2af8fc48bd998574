package nameserver

import (
	"encoding/binary"
	"slices"

	"github.com/miekg/dns"
)

const (
	optLength = 11 // octets of an OPT record without options
	// labelRoom is more than a reply may use: the library wants room for a
	// name's first label also where it then writes a pointer.
	labelRoom = 64
	ownSize   = 1232 // UDP payload size in our OPT: no fragments on any usual path
)

// reply is what to answer, before it has a wire form.
type reply struct {
	rcode         int
	authoritative bool
	recursion     bool // RA: recursion is available
	truncated     bool
	answer        []dns.RR
	authority     []dns.RR
	additional    []dns.RR // without OPT, which follows the query's
	reason        reason   // why there is no answer
	subnet        bool     // the client subnet of the question was believed: repeat it
	scope         uint8    // prefix length of the clients that the answer is for
	cookie        bool     // a server cookie is due, as far as there is room
	server        [serverCookie]byte
}

// hasRecords reports whether the reply is longer than its header and question.
func (r *reply) hasRecords() bool { return len(r.answer)+len(r.authority) > 0 }

// render appends the reply to q to buf. A reply longer than limit octets is cut
// to its question with TC=1. That shortest form is never longer than the query,
// because it holds only what the query held; a reason is added where it fits.
func (q *query) render(buf []byte, r *reply, limit int) []byte {
	start := len(buf)
	if r.hasRecords() && !r.truncated {
		whole, ok := q.renderRecords(buf, r, min(limit, ownLimit))
		if !ok && limit > ownLimit {
			whole, ok = q.renderRecords(buf, r, limit)
		}
		if !ok && len(r.answer) > 0 && len(r.additional) > 0 {
			// What was not asked for goes first (RFC 2181 §9); a referral's glue stays.
			least := *r
			least.additional = nil
			whole, ok = q.renderRecords(buf, &least, limit)
		}
		if ok {
			return whole
		}
		buf = buf[:start]
		truncated := *r
		truncated.truncated = true
		r = &truncated
	}
	return q.appendOPT(q.appendHead(buf, r), start, r, limit)
}

// appendHead writes the header with empty record counts, and the question as
// it came.
func (q *query) appendHead(buf []byte, r *reply) []byte {
	flags := flagQR | q.flags&(0xF<<11|flagRD|flagCD) | uint16(r.rcode&0xF)
	if r.authoritative {
		flags |= flagAA
	}
	if r.recursion {
		flags |= flagRA
	}
	if r.truncated {
		flags |= flagTC
	}
	buf = append(buf, q.message[0], q.message[1])
	buf = binary.BigEndian.AppendUint16(buf, flags)
	if q.questionEnd == 0 {
		return append(buf, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	buf = append(buf, 0, 1, 0, 0, 0, 0, 0, 0)
	return append(buf, q.message[headerLength:q.questionEnd]...)
}

// appendOPT adds our OPT record if the query had one, with a reason as far as
// limit lets it; start is where the message begins in buf.
func (q *query) appendOPT(buf []byte, start int, r *reply, limit int) []byte {
	if !q.edns.present {
		return buf
	}
	extra := binary.BigEndian.Uint16(buf[start+10:])
	binary.BigEndian.PutUint16(buf[start+10:], extra+1)
	buf = append(buf, 0)
	buf = binary.BigEndian.AppendUint16(buf, dns.TypeOPT)
	buf = binary.BigEndian.AppendUint16(buf, ownSize)
	buf = append(buf, byte(r.rcode>>4), 0) // extended RCODE, version 0
	var flags uint16
	if q.edns.do {
		flags = flagDO
	}
	buf = binary.BigEndian.AppendUint16(buf, flags)
	buf = append(buf, 0, 0)
	options := len(buf)
	if r.subnet {
		buf = q.edns.subnet.appendOption(buf, r.scope)
	}
	if r.cookie && limit-(len(buf)-start) >= cookieRoom {
		buf = q.edns.cookie.appendOption(buf, &r.server)
	}
	buf = r.reason.appendOption(buf, limit-(len(buf)-start))
	binary.BigEndian.PutUint16(buf[options-2:], uint16(len(buf)-options))
	return buf
}

// optLength is how long our OPT record is at the least.
func (q *query) optLength(r *reply) int {
	length := 0
	if q.edns.present {
		length = optLength
	}
	if r.subnet {
		length += 4 + q.edns.subnet.length
	}
	if r.cookie {
		length += cookieRoom // who sent one waits for it (RFC 7873 §5.3)
	}
	return length
}

const flagDO = 1 << 15 // in the OPT record's flags, RFC 6891 §6.1.4

// renderRecords writes the whole reply and reports false when it does not fit.
func (q *query) renderRecords(buf []byte, r *reply, limit int) ([]byte, bool) {
	start := len(buf)
	buf = q.appendHead(buf, r)
	room := limit - q.optLength(r)
	if len(buf)-start >= room {
		return buf, false
	}
	end := start + room + labelRoom
	whole := slices.Grow(buf, end-len(buf))[:end]
	message := whole[start:]
	offset := len(buf) - start
	names := q.compression()
	for i, section := range [][]dns.RR{r.answer, r.authority, r.additional} {
		for _, record := range section {
			next, err := dns.PackRR(record, message, offset, names, true)
			if err != nil || next > room {
				return buf, false // the only error a built record can have is lack of room
			}
			offset = next
		}
		binary.BigEndian.PutUint16(message[6+2*i:], uint16(len(section)))
	}
	return q.appendOPT(whole[:start+offset], start, r, limit), true
}

// compression maps the question's name and its suffixes to their offsets, for
// dns.PackRR (RFC 1035 §4.1.4).
func (q *query) compression() map[string]int {
	names := make(map[string]int, 8)
	for offset := 0; offset < len(q.name); offset += int(q.lower[offset]) + 1 {
		names[q.name[offset:]] = headerLength + offset
	}
	return names
}
