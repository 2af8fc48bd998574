package hello

import "bytes"

// token are the octets of methods and field names (RFC 9110 §5.6.2).
var token = func() (set [256]bool) {
	for _, c := range []byte("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
		set[c] = true
	}
	return set
}()

func isToken(octets []byte) bool {
	for _, c := range octets {
		if !token[c] {
			return false
		}
	}
	return len(octets) > 0
}

// HTTP is the name of the server in the request that a stream begins with: of the
// request target where it is absolute, else of Host (RFC 9112 §3.2.2). It waits for the
// end of the header section, for there may be a second Host: ErrMalformed, as are folded
// lines and whatever else RFC 9112 has a server refuse. Lines may end without CR. An
// HTTP/2 connection that begins without TLS is read, too: see http2. ErrNoName without
// Host, with an empty one or an address.
func HTTP(stream []byte) (name string, err error) {
	if connection, ok := bytes.CutPrefix(stream, []byte(preface)); ok {
		name, err = http2(connection)
		return name, orTooLong(err, stream)
	}
	if len(stream) < len(preface) && string(stream) == preface[:len(stream)] {
		return "", ErrShort
	}
	rest := bytes.TrimPrefix(stream, []byte("\r\n")) // §2.2: overlooked before a request
	request, rest, err := line(rest)
	if err != nil {
		return "", orTooLong(err, stream)
	}
	target, absolute, err := requestTarget(request)
	if err != nil {
		return "", err
	}
	host, found, err := hostField(rest)
	switch {
	case err != nil:
		return "", orTooLong(err, stream)
	case absolute:
		return authority(target)
	case !found:
		return "", ErrNoName
	}
	return authority(host)
}

// line takes a line off, without its end. ErrShort: its end has not come.
func line(stream []byte) (line, rest []byte, err error) {
	line, rest, ended := bytes.Cut(stream, []byte("\n"))
	if ended {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	for i, c := range line {
		// A CR may still be the first half of the line's end.
		if c < ' ' && c != '\t' && (ended || c != '\r' || i < len(line)-1) || c == 0x7f {
			return nil, nil, malformed("a control character in the request")
		}
	}
	if !ended {
		return nil, nil, ErrShort
	}
	return line, rest, nil
}

// requestTarget is the authority of a request line's target (RFC 9112 §3). Only an
// absolute one has it; that of CONNECT names the far end of a tunnel, no server of ours.
func requestTarget(request []byte) (authority []byte, absolute bool, err error) {
	method, rest, ok := bytes.Cut(request, []byte(" "))
	target, version, more := bytes.Cut(rest, []byte(" "))
	if !ok || !more || !isToken(method) || len(target) == 0 {
		return nil, false, malformed("no request line")
	}
	if len(version) != len("HTTP/1.1") || !bytes.HasPrefix(version, []byte("HTTP/1.")) || version[7] < '0' || version[7] > '9' {
		return nil, false, malformed("a request of another version than HTTP/1")
	}
	if target[0] == '/' || string(target) == "*" || string(method) == "CONNECT" {
		return nil, false, nil
	}
	scheme, after, ok := bytes.Cut(target, []byte("://"))
	if !ok || !bytes.EqualFold(scheme, []byte("http")) && !bytes.EqualFold(scheme, []byte("https")) {
		return nil, false, malformed("a request target of no known form")
	}
	if end := bytes.IndexAny(after, "/?#"); end >= 0 {
		after = after[:end]
	}
	if len(after) == 0 { // RFC 9110 §4.2.1
		return nil, false, malformed("an absolute request target without a host")
	}
	return after, true, nil
}

// hostField is the value of the one Host in a header section (RFC 9112 §5).
func hostField(rest []byte) (host []byte, found bool, err error) {
	for {
		var field []byte
		if field, rest, err = line(rest); err != nil {
			return nil, false, err
		}
		if len(field) == 0 {
			return host, found, nil
		}
		name, value, ok := bytes.Cut(field, []byte(":"))
		if !ok || !isToken(name) { // §5.2: a folded line, too, which begins with a space
			return nil, false, malformed("a line of the header that is folded or no field")
		}
		if !bytes.EqualFold(name, []byte("Host")) {
			continue
		}
		if found {
			return nil, false, malformed("two Host fields") // §3.2
		}
		host, found = bytes.Trim(value, " \t"), true
	}
}

// Path is the request target of an HTTP/1 request that a stream begins with where it is a path and a query (RFC 9112
// §3.2.1), in visible ASCII letters alone; "" for any other.
func Path(stream []byte) string {
	request, _, err := line(bytes.TrimPrefix(stream, []byte("\r\n")))
	if err != nil {
		return ""
	}
	if _, absolute, err := requestTarget(request); err != nil || absolute {
		return ""
	}
	_, rest, _ := bytes.Cut(request, []byte(" "))
	target, _, _ := bytes.Cut(rest, []byte(" "))
	if target[0] != '/' || bytes.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return ""
	}
	return string(target)
}
