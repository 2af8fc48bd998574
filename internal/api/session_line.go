package api

import (
	"bytes"
	"encoding/json"
	"math"
	"net/netip"
	"strconv"
	"unicode/utf8"

	"github.com/realmgate/realmgate/internal/model"
)

// A million sessions are a million lines: encoding/json takes longer to write one, and
// to read it, than all else that happens to it. What follows writes the same lines.

// AppendLine appends the session as encoding/json writes it.
func (s *Session) AppendLine(b []byte) ([]byte, error) {
	if !isPlain(s.State) || !isPlain(s.Origin) || !isPlain(s.Host) || !isPlain(s.Name) || !isShort(s.Age) || !isShort(s.Idle) {
		line, err := json.Marshal(s)
		return append(b, line...), err
	}
	b = append(append(b, `{"protocol":"`...), s.Protocol.String()...)
	b = appendEndpoint(append(b, `","private":"`...), s.Private)
	b = appendEndpoint(append(b, `","external":"`...), s.External)
	b = appendEndpoint(append(b, `","remote":"`...), s.Remote)
	b = append(append(b, `","state":"`...), s.State...)
	b = append(append(b, `","origin":"`...), s.Origin...)
	if s.Host != "" {
		b = append(append(b, `","host":"`...), s.Host...)
	}
	if s.Name != "" {
		b = append(append(b, `","name":"`...), s.Name...)
	}
	b = append(b, '"')
	if s.Hairpin {
		b = append(b, `,"hairpin":true`...)
	}
	b = strconv.AppendFloat(append(b, `,"age":`...), s.Age, 'f', -1, 64)
	b = strconv.AppendFloat(append(b, `,"idle":`...), s.Idle, 'f', -1, 64)
	return append(b, '}'), nil
}

func appendEndpoint(b []byte, e netip.AddrPort) []byte {
	if !e.IsValid() {
		return b
	}
	return e.AppendTo(b)
}

// isPlain reports whether a string stands in JSON as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// isShort reports whether encoding/json writes a number without an exponent.
func isShort(f float64) bool {
	size := math.Abs(f)
	return f == 0 || size >= 1e-6 && size < 1e21
}

// ReadLine reads a line as AppendLine writes it, and reports whether it was one: else
// encoding/json is to read it.
func (s *Session) ReadLine(line []byte) bool {
	l := reader{line, true}
	*s = Session{}
	s.Protocol = l.protocol(l.text(`{"protocol":"`))
	s.Private = l.endpoint(l.text(`,"private":"`))
	s.External = l.endpoint(l.text(`,"external":"`))
	s.Remote = l.endpoint(l.text(`,"remote":"`))
	s.State = word(l.text(`,"state":"`))
	s.Origin = word(l.text(`,"origin":"`))
	if l.has(`,"host":"`) {
		s.Host = string(l.text(`,"host":"`))
	}
	if l.has(`,"name":"`) {
		s.Name = string(l.text(`,"name":"`))
	}
	s.Hairpin = l.skip(`,"hairpin":true`)
	s.Age = l.number(`,"age":`, ',')
	s.Idle = l.number(`,"idle":`, '}')
	return l.ok && string(l.rest) == "}"
}

// reader reads a line from left to right; ok is false from what does not fit on.
type reader struct {
	rest []byte
	ok   bool
}

func (r *reader) has(prefix string) bool { return bytes.HasPrefix(r.rest, []byte(prefix)) }

func (r *reader) skip(prefix string) bool {
	if !r.has(prefix) {
		return false
	}
	r.rest = r.rest[len(prefix):]
	return true
}

// text is what stands between the prefix and the next quotation mark.
func (r *reader) text(prefix string) []byte {
	if r.ok = r.ok && r.skip(prefix); !r.ok {
		return nil
	}
	end := bytes.IndexByte(r.rest, '"')
	if end < 0 {
		r.ok = false
		return nil
	}
	text := r.rest[:end]
	r.rest = r.rest[end+1:]
	for _, c := range text {
		if c < ' ' || c >= utf8.RuneSelf || c == '\\' {
			r.ok = false
		}
	}
	return text
}

func (r *reader) number(prefix string, end byte) float64 {
	if r.ok = r.ok && r.skip(prefix); !r.ok {
		return 0
	}
	length := bytes.IndexByte(r.rest, end)
	if length < 0 {
		r.ok = false
		return 0
	}
	text := r.rest[:length]
	f, err := strconv.ParseFloat(string(text), 64)
	r.ok = isDecimal(text) && err == nil
	r.rest = r.rest[length:]
	return f
}

// isDecimal reports whether a text is a number of JSON without sign and exponent.
func isDecimal(text []byte) bool {
	whole, fraction, point := bytes.Cut(text, []byte("."))
	for _, digits := range [][]byte{whole, fraction} {
		for _, c := range digits {
			if c < '0' || c > '9' {
				return false
			}
		}
	}
	return len(whole) > 0 && (whole[0] != '0' || len(whole) == 1) && point == (len(fraction) > 0)
}

func (r *reader) protocol(text []byte) (p model.Protocol) {
	switch string(text) {
	case "tcp":
		return model.TCP
	case "udp":
		return model.UDP
	}
	r.ok = r.ok && p.UnmarshalText(text) == nil
	return p
}

func (r *reader) endpoint(text []byte) netip.AddrPort {
	if a, port, ok := readIPv4(text); ok {
		return netip.AddrPortFrom(a, port)
	}
	if len(text) == 0 {
		return netip.AddrPort{}
	}
	e, err := netip.ParseAddrPort(string(text))
	r.ok = r.ok && err == nil
	return e
}

// readIPv4 reads 10.0.0.1:80.
func readIPv4(text []byte) (address netip.Addr, port uint16, ok bool) {
	const ends = "...:"
	var octets [4]byte
	value, digits, part := 0, 0, 0
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			if digits > 0 && value == 0 { // no leading zeros
				return address, 0, false
			}
			if value, digits = value*10+int(c-'0'), digits+1; value > math.MaxUint16 {
				return address, 0, false
			}
		case part == len(ends) || c != ends[part] || digits == 0 || value > math.MaxUint8:
			return address, 0, false
		default:
			octets[part] = byte(value)
			value, digits, part = 0, 0, part+1
		}
	}
	return netip.AddrFrom4(octets), uint16(value), part == len(ends) && digits > 0
}

// words are what State and Origin say: they need no memory of their own.
var words = [...]string{"open", "syn", "syn_both", "established", "fin_out", "fin_in", "fin_both", "rst", "inside", "mapping", "pool", "dnat", "own", "own_in", "basic", "web", "cookie", "edge_out", "edge_in"}

func word(text []byte) string {
	for _, w := range words {
		if string(text) == w {
			return w
		}
	}
	return string(text)
}
