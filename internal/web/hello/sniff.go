package hello

// Kind is a protocol that names its server in the first octets.
type Kind uint8

// The kinds that Sniff tells apart.
const (
	KindTLS  Kind = 1 + iota // ask TLS
	KindHTTP                 // ask HTTP, also for HTTP/2 without TLS
)

// String is the protocol's name.
func (k Kind) String() string {
	switch k {
	case KindTLS:
		return "TLS"
	case KindHTTP:
		return "HTTP"
	}
	return "unknown"
}

// Sniff says by the first octet which parser to ask, whatever the port: a TLS record
// of a handshake begins with 22, a request with the letter of a method, or with an
// empty line. False: neither, or no octet yet.
func Sniff(stream []byte) (Kind, bool) {
	switch {
	case len(stream) == 0:
		return 0, false
	case stream[0] == recordHandshake:
		return KindTLS, true
	case token[stream[0]] || stream[0] == '\r' || stream[0] == '\n':
		return KindHTTP, true
	}
	return 0, false
}
