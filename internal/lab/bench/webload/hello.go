package webload

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
)

// kind is what a client wants of the server. It is the first octet of the hello's random value, which nobody between
// them has a reason to read.
type kind byte

const (
	page kind = 'p' // an answer of a packet
	bulk kind = 'b' // octets without end
)

// Places in a TLS record with a ClientHello (RFC 8446 sections 4.1.2 and 5.1).
const (
	recordHeader = 5
	kindAt       = recordHeader + 4 + 2 // after the handshake's header and the legacy version
)

// hello is what crypto/tls says to a site first: 1.5 KB in two segments, as browsers' hellos are since they have
// post-quantum keys.
func hello(name string, want kind) ([]byte, error) {
	near, far := net.Pipe()
	said := make(chan struct{})
	go func() {
		defer close(said)
		_ = tls.Client(near, &tls.Config{ServerName: name, MinVersion: tls.VersionTLS13}).Handshake()
	}()
	record := make([]byte, 1<<14)
	n, err := io.ReadAtLeast(far, record, recordHeader)
	if err == nil && n < recordLength(record) {
		var more int
		more, err = io.ReadAtLeast(far, record[n:], recordLength(record)-n)
		n += more
	}
	_ = far.Close() // so that the handshake fails, which is all that is left of it
	_ = near.Close()
	<-said
	if err == nil && n != recordLength(record) {
		err = errors.New("it is not one record")
	}
	if err != nil {
		return nil, fmt.Errorf("make a hello for %s: %w", name, err)
	}
	record[kindAt] = byte(want)
	return record[:n], nil
}

// recordLength is that of a record with its header.
func recordLength(header []byte) int { return recordHeader + int(header[3])<<8 + int(header[4]) }
