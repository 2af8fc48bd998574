package hello

import (
	"errors"
	"slices"

	"golang.org/x/crypto/cryptobyte"
)

// Numbers of RFC 8446 §4, §5.1 and RFC 6066 §3.
const (
	recordHandshake     = 22
	recordLimit         = 1 << 14
	messageClientHello  = 1
	extensionServerName = 0
	nameHost            = 0
)

// TLS is the server_name of the ClientHello that a stream begins with, of any
// version since SSL 3.0, over any number of records. It waits for the whole hello, so
// that the answer does not depend on how it was cut. ErrNoName without server_name or
// with an address in it; ErrMalformed for anything else, hellos of SSL 2.0 included.
func TLS(stream []byte) (name string, err error) {
	var message []byte
	for rest := cryptobyte.String(stream); !rest.Empty(); {
		fragment, err := record(&rest)
		if err != nil {
			return "", orTooLong(err, stream)
		}
		if message == nil {
			message = slices.Clip(fragment) // appending copies
		} else {
			message = append(message, fragment...)
		}
		if name, err = handshake(message); !errors.Is(err, ErrShort) {
			return name, err
		}
	}
	return "", unfinished(stream)
}

func orTooLong(err error, stream []byte) error {
	if errors.Is(err, ErrShort) {
		return unfinished(stream)
	}
	return err
}

// record takes a record of a handshake off a stream, or as much of it as is there
// (RFC 8446 §5.1).
func record(rest *cryptobyte.String) (fragment []byte, err error) {
	header := *rest
	switch { // before the header is complete: nobody waits for more of what is no TLS
	case header[0] != recordHandshake:
		return nil, malformed("no TLS record of a handshake")
	case len(header) > 1 && header[1] != 3:
		return nil, malformed("a TLS record of an unknown version")
	}
	var length uint16
	if !rest.Skip(3) || !rest.ReadUint16(&length) {
		return nil, ErrShort
	}
	if length == 0 || length > recordLimit {
		return nil, malformed("a TLS record that is empty or too long")
	}
	rest.ReadBytes(&fragment, min(int(length), len(*rest)))
	return fragment, nil
}

// handshake is the name in a handshake message that is a ClientHello.
func handshake(message cryptobyte.String) (string, error) {
	if len(message) > 0 && message[0] != messageClientHello {
		return "", malformed("the first message is no ClientHello")
	}
	var length uint32
	var hello []byte
	switch {
	case !message.Skip(1) || !message.ReadUint24(&length):
		return "", ErrShort
	case length > MaxBytes:
		return "", ErrTooLong
	case !message.ReadBytes(&hello, int(length)):
		return "", ErrShort
	}
	return clientHello(hello)
}

// clientHello walks a ClientHello's body (RFC 8446 §4.1.2) to server_name.
// Extensions may stand in any order and be unknown.
func clientHello(hello cryptobyte.String) (string, error) {
	var session, ciphers, compressions, extensions, list cryptobyte.String
	if !hello.Skip(2+32) || // version, random
		!hello.ReadUint8LengthPrefixed(&session) || len(session) > 32 ||
		!hello.ReadUint16LengthPrefixed(&ciphers) || ciphers.Empty() || len(ciphers)%2 != 0 ||
		!hello.ReadUint8LengthPrefixed(&compressions) || compressions.Empty() {
		return "", malformed("a ClientHello that ends early")
	}
	if hello.Empty() { // before TLS 1.3 extensions may be absent
		return "", ErrNoName
	}
	if !hello.ReadUint16LengthPrefixed(&extensions) || !hello.Empty() {
		return "", malformed("extensions of another length than the ClientHello's")
	}
	found := false
	for !extensions.Empty() {
		var kind uint16
		var body cryptobyte.String
		if !extensions.ReadUint16(&kind) || !extensions.ReadUint16LengthPrefixed(&body) {
			return "", malformed("an extension that ends early")
		}
		if kind != extensionServerName {
			continue
		}
		if found {
			return "", malformed("two server_name extensions")
		}
		found, list = true, body
	}
	if !found {
		return "", ErrNoName
	}
	return serverName(list)
}

// serverName is the one host_name of a ServerNameList (RFC 6066 §3).
func serverName(body cryptobyte.String) (string, error) {
	var list, host cryptobyte.String
	if !body.ReadUint16LengthPrefixed(&list) || !body.Empty() || list.Empty() {
		return "", malformed("a server_name of another length than its list's")
	}
	for !list.Empty() {
		var kind uint8
		var name cryptobyte.String
		if !list.ReadUint8(&kind) || !list.ReadUint16LengthPrefixed(&name) || name.Empty() {
			return "", malformed("an entry of server_name that ends early")
		}
		if kind != nameHost {
			continue
		}
		if host != nil {
			return "", malformed("two names in server_name")
		}
		host = name
	}
	if host == nil {
		return "", ErrNoName
	}
	return canonical(host)
}
