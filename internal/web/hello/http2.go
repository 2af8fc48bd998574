package hello

import (
	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/net/http2/hpack"
)

// preface begins an HTTP/2 connection (RFC 9113 §3.4). To HTTP/1.1 it is a request
// with a method that nobody has.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Frames and flags of RFC 9113 §6.
const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePush         = 5
	frameGoAway       = 7
	frameContinuation = 9

	flagEndHeaders = 0x04
	flagPadded     = 0x08
	flagPriority   = 0x20

	frameLimit = 1 << 14 // until a peer allows more, and we never answer
	tableSize  = 4096    // of HPACK, likewise
)

// http2 is the authority of the first request on a connection whose client knows
// beforehand that the server speaks HTTP/2 (RFC 9113 §3.3). Clients that wait for the
// server's settings before they ask cannot be read: ErrShort until time is over.
func http2(stream cryptobyte.String) (string, error) {
	var block []byte
	asked := false // HEADERS have come
	for first := true; ; first = false {
		var length, id uint32
		var kind, flags uint8
		var payload cryptobyte.String
		rest := stream
		if !rest.ReadUint24(&length) || !rest.ReadUint8(&kind) || !rest.ReadUint8(&flags) || !rest.ReadUint32(&id) {
			return "", ErrShort
		}
		switch {
		case length > frameLimit:
			return "", malformed("a frame of HTTP/2 that is too long")
		case first && kind != frameSettings:
			return "", malformed("HTTP/2 that does not begin with settings")
		case asked != (kind == frameContinuation):
			return "", malformed("HTTP/2 with its header block interrupted")
		case kind == frameData || kind == frameReset || kind == framePush || kind == frameGoAway:
			return "", malformed("HTTP/2 that does not begin with a request")
		}
		if !rest.ReadBytes((*[]byte)(&payload), int(length)) {
			return "", ErrShort
		}
		stream = rest
		switch kind {
		case frameHeaders:
			asked = true
			if !unpad(&payload, flags) {
				return "", malformed("HTTP/2 with more padding than frame")
			}
			block = payload[:len(payload):len(payload)]
		case frameContinuation:
			block = append(block, payload...)
		}
		if asked && flags&flagEndHeaders != 0 {
			return pseudoAuthority(block)
		}
	}
}

// unpad leaves the header block of HEADERS (RFC 9113 §6.2).
func unpad(payload *cryptobyte.String, flags uint8) bool {
	var padding uint8
	if flags&flagPadded != 0 && !payload.ReadUint8(&padding) {
		return false
	}
	if flags&flagPriority != 0 && !payload.Skip(5) {
		return false
	}
	return payload.ReadBytes((*[]byte)(payload), len(*payload)-int(padding))
}

// pseudoAuthority is the name in :authority, or in host where that is absent
// (RFC 9113 §8.3.1).
func pseudoAuthority(block []byte) (string, error) {
	var names [2]string // of :authority and host
	var found [2]int
	decoder := hpack.NewDecoder(tableSize, func(field hpack.HeaderField) {
		switch field.Name {
		case ":authority":
			names[0] = field.Value
			found[0]++
		case "host":
			names[1] = field.Value
			found[1]++
		}
	})
	decoder.SetMaxStringLength(MaxBytes)
	if _, err := decoder.Write(block); err != nil {
		return "", malformed("a header block of HTTP/2 that cannot be read")
	}
	if decoder.Close() != nil {
		return "", malformed("a header block of HTTP/2 that ends early")
	}
	switch {
	case found[0] > 1 || found[1] > 1:
		return "", malformed("two authorities in a request of HTTP/2")
	case found[0] == 0:
		return authority([]byte(names[1]))
	case found[1] == 1 && names[0] != names[1]:
		return "", malformed("a request of HTTP/2 whose host is another than its authority")
	}
	return authority([]byte(names[0]))
}
