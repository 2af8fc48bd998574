package nameserver

import (
	"encoding/binary"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	headerLength   = 12  // RFC 1035 §4.1.1
	maxNameLength  = 255 // octets on the wire, RFC 1035 §2.3.4
	maxAdditional  = 8   // records read after the question; more is malformed
	minimumUDPSize = 512 // octets, RFC 1035 §4.2.1

	flagQR = 1 << 15
	flagAA = 1 << 10
	flagTC = 1 << 9
	flagRD = 1 << 8
	flagRA = 1 << 7
	flagAD = 1 << 5
	flagCD = 1 << 4
)

// query is one request read in place. Reading it by hand rather than with
// dns.Msg keeps the question's octets as they came (RFC 1035 compression, 0x20
// case) and costs one allocation, since this runs for every forged packet.
type query struct {
	message     []byte // the request; the reader's buffer, see detached
	flags       uint16
	questionEnd int    // offset after the question; 0 when it could not be read
	name        string // as asked, with final dot; "" if not plain
	canonical   model.Name
	lower       [maxNameLength]byte // the name's wire form in lower case
	qtype       uint16
	qclass      uint16
	edns        edns
	signed      bool // has a TSIG record (RFC 8945)
}

// edns is the OPT record of a request (RFC 6891 §6.1).
type edns struct {
	present bool
	size    uint16 // the asker's UDP payload size
	version uint8
	do      bool // DNSSEC OK, copied into the reply (RFC 3225 §3)
	subnet  subnetOption
	cookie  cookieOption
}

// problem is why a message is not a query to be answered normally.
type problem uint8

const (
	none           problem = iota
	notAQuery              // too short or a response: stay silent
	malformed              // FORMERR
	notImplemented         // NOTIMP
)

// parse reads a request. On malformed and notImplemented as much of q is filled
// as the reply can echo.
func (q *query) parse(message []byte) problem {
	q.message = message
	if len(message) < headerLength {
		return notAQuery
	}
	q.flags = binary.BigEndian.Uint16(message[2:])
	if q.flags&flagQR != 0 {
		return notAQuery
	}
	questions := binary.BigEndian.Uint16(message[4:])
	if questions == 1 {
		q.questionEnd = q.readQuestion()
	}
	if q.opcode() != dns.OpcodeQuery {
		return notImplemented
	}
	if q.questionEnd == 0 || q.qtype == dns.TypeOPT {
		return malformed
	}
	if binary.BigEndian.Uint32(message[6:]) != 0 { // ANCOUNT and NSCOUNT
		if q.qtype == dns.TypeIXFR { // has an SOA there, and is refused anyway
			return none
		}
		return malformed
	}
	if !q.readAdditional() {
		q.edns = edns{}
		return malformed
	}
	return none
}

// asked is the question's name in the letters that it came in. Names with other
// characters than ours are read by the library.
func (q *query) asked() string {
	if q.name != "" {
		return q.name
	}
	name, _, err := dns.UnpackDomainName(q.message, headerLength)
	if err != nil {
		return "." // readQuestion took it, so it is none that can be
	}
	return name
}

// text is the question's name in canonical form.
func (q *query) text() string {
	if q.canonical != "" {
		return string(q.canonical)
	}
	return dns.CanonicalName(q.asked())
}

func (q *query) opcode() int { return int(q.flags>>11) & 0xF }

// readQuestion fills name, type and class and returns the offset after them, or
// 0. A compressed name is not accepted: nothing precedes the question that a
// pointer could mean, and expanding it would make the reply longer.
func (q *query) readQuestion() int {
	wire := q.message[headerLength:]
	plain, end := true, 0
	for {
		if end >= len(wire) {
			return 0
		}
		length := int(wire[end])
		next := end + 1 + length
		if length > 63 || next > maxNameLength || next > len(wire) {
			return 0
		}
		q.lower[end] = wire[end]
		for i := end + 1; i < next; i++ {
			c := wire[i]
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			plain = plain && (('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '-' || c == '_' || c == '*')
			q.lower[i] = c
		}
		end = next
		if length == 0 {
			break
		}
	}
	if end+4 > len(wire) {
		return 0
	}
	q.qtype = binary.BigEndian.Uint16(wire[end:])
	q.qclass = binary.BigEndian.Uint16(wire[end+2:])
	if plain && end > 1 {
		q.name = presentation(wire[:end])
		q.canonical = model.Name(q.name)
		if lower := q.lower[:end]; string(lower) != string(wire[:end]) {
			q.canonical = model.Name(presentation(lower))
		}
	}
	return headerLength + end + 4
}

// presentation writes the wire form of a name of plain characters with dots.
func presentation(wire []byte) string {
	var text [maxNameLength]byte
	n := copy(text[:], wire[1:]) // one length octet less, the root's becomes the final dot
	for i := int(wire[0]); i < n; i += int(wire[1+i]) + 1 {
		text[i] = '.'
	}
	return string(text[:n])
}

// readAdditional looks for the OPT record and checks that the message ends
// where its records end.
func (q *query) readAdditional() bool {
	count := int(binary.BigEndian.Uint16(q.message[10:]))
	if count > maxAdditional {
		return false
	}
	offset := q.questionEnd
	for range count {
		owner, rest, ok := skipName(q.message, offset)
		if !ok || rest+10 > len(q.message) {
			return false
		}
		fixed := q.message[rest : rest+10] // type, class, TTL, length
		end := rest + 10 + int(binary.BigEndian.Uint16(fixed[8:]))
		if end > len(q.message) {
			return false
		}
		switch binary.BigEndian.Uint16(fixed) {
		case dns.TypeTSIG:
			q.signed = true
		case dns.TypeOPT:
			if owner != 1 || q.edns.present {
				return false // not the root, or a second OPT (RFC 6891 §6.1.1)
			}
			q.edns = edns{
				present: true,
				size:    binary.BigEndian.Uint16(fixed[2:]),
				version: fixed[5],
				do:      fixed[6]&0x80 != 0,
			}
			if !q.edns.readOptions(q.message[rest+10 : end]) {
				return false
			}
		}
		offset = end
	}
	return offset == len(q.message)
}

// skipName returns the length of the name at offset as it is on the wire and
// the offset after it. A compression pointer ends a name.
func skipName(message []byte, offset int) (length, end int, ok bool) {
	for end = offset; end < len(message); {
		octet := int(message[end])
		switch {
		case octet == 0:
			return end + 1 - offset, end + 1, true
		case octet >= 0xC0:
			return end + 2 - offset, end + 2, end+2 <= len(message)
		case octet > 63:
			return 0, 0, false
		}
		end += 1 + octet
	}
	return 0, 0, false
}

// readOptions keeps the options that we know (RFC 6891 §6.1.2), and reports
// whether all of them fill their space exactly.
func (e *edns) readOptions(options []byte) bool {
	for len(options) >= 4 {
		length := 4 + int(binary.BigEndian.Uint16(options[2:]))
		if length > len(options) {
			return false
		}
		switch data := options[4:length]; binary.BigEndian.Uint16(options) {
		case dns.EDNS0SUBNET:
			e.subnet.read(data)
		case dns.EDNS0COOKIE:
			e.cookie.read(data)
		}
		options = options[length:]
	}
	return len(options) == 0
}

// udpSize is how many octets the asker takes over UDP (RFC 6891 §6.2.3).
func (q *query) udpSize() int { return max(minimumUDPSize, int(q.edns.size)) }

// detached returns a copy that may outlive the reader's buffer.
func (q *query) detached() *query {
	kept := *q
	kept.message = append([]byte(nil), q.message[:q.questionEnd]...)
	return &kept
}

// isTransferOrMeta reports types that ask for an operation and not for records
// (RFC 6895 §3.1), apart from ANY.
func isTransferOrMeta(qtype uint16) bool {
	return qtype >= dns.TypeTKEY && qtype <= dns.TypeMAILA
}
