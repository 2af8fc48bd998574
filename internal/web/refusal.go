package web

import (
	"fmt"
	"strings"

	"github.com/realmgate/realmgate/internal/web/hello"
)

// unrecognisedName is a TLS record with the fatal alert of that name (RFC 6066 section 3, RFC 8446 section 6.2).
var unrecognisedName = []byte{21, 3, 3, 0, 2, 2, 112}

const noSite = "There is no site of this name here.\n"

// misdirected is the HTTP response to a request for a name that is not served here (RFC 9110 section 15.5.20).
var misdirected = fmt.Appendf(nil, "HTTP/1.1 421 Misdirected Request\r\nContent-Type: text/plain; charset=utf-8\r\n"+
	"Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(noSite), noSite)

// refusal is what a client hears that asks for a name that nobody has; nil: it did not ask in words that are known.
func refusal(stream []byte) []byte {
	kind, known := hello.Sniff(stream)
	switch {
	case !known:
		return nil
	case kind == hello.KindTLS:
		return unrecognisedName
	}
	return misdirected
}

// challenges is where ACME's http-01 asks (RFC 8555 section 8.3): a host has to answer there itself.
const challenges = "/.well-known/acme-challenge/"

// redirection leads a request of HTTP to the same at https (RFC 9110 section 15.4.9); nil for what is none, or is to reach
// its host.
func redirection(name string, stream []byte) []byte {
	path := hello.Path(stream)
	if path == "" || strings.HasPrefix(path, challenges) {
		return nil
	}
	return fmt.Appendf(nil, "HTTP/1.1 308 Permanent Redirect\r\nLocation: https://%s%s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", name, path)
}
