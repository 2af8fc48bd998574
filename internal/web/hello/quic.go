package hello

import (
	"errors"

	"golang.org/x/crypto/cryptobyte"
)

// The bounds of one attempt to connect.
const (
	MaxDatagrams = 4
	maxFrames    = 128  // CRYPTO frames with new octets; Chromium makes some 20 of a hello
	leastInitial = 1200 // RFC 9000 §14.1: servers drop Initials in smaller datagrams
)

// Initials reads the ClientHello of one attempt to connect by QUIC, versions 1 and 2
// (RFC 9000, RFC 9001, RFC 9369). Its Initials are protected with keys that anybody can
// derive from the first one's destination connection ID; later ones may carry another ID.
type Initials struct {
	protection *protection // nil before the first packet
	opened     bool        // a packet was authentic
	hello      pieces
	frames     int
	datagrams  int

	done bool
	name string
	err  error
}

// NewInitials begins an attempt.
func NewInitials() *Initials { return new(Initials) }

// Add takes in the next datagram of the client's and does not change it. ErrShort until
// the ClientHello is whole; any other answer is final and given again by further calls.
// Of the first datagram everything must be right, or it is ErrMalformed, ErrVersion where
// only the version is not. Later packets that are not authentic are passed over, as
// anybody can send them. ErrTooMany with more than MaxDatagrams, ErrTooLong with a hello
// of more than MaxBytes. The name is judged as by TLS.
func (q *Initials) Add(datagram []byte) (name string, err error) {
	if q.done {
		return q.name, q.err
	}
	if q.datagrams++; q.datagrams > MaxDatagrams {
		q.err = ErrTooMany
	} else if q.err = q.packets(datagram); q.err == nil {
		q.name, q.err = handshake(q.hello.start())
	}
	q.done = !errors.Is(q.err, ErrShort)
	return q.name, q.err
}

// packets goes through a datagram's packets (RFC 9000 §12.2).
func (q *Initials) packets(datagram []byte) error {
	// What has no long header fills the rest: padding, or a packet with later keys.
	for rest := cryptobyte.String(datagram); !rest.Empty() && rest[0]&longHeader != 0; {
		p, err := readPacket(&rest)
		if err == nil && q.protection == nil {
			q.protection, err = newProtection(p)
		}
		if err != nil { // and where the next packet begins is unknown
			return q.doubtful(err)
		}
		if !p.initial || p.version != q.protection.version {
			continue
		}
		if len(datagram) < leastInitial {
			return q.doubtful(malformed("an Initial in a datagram of less than 1200 octets"))
		}
		frames, err := q.protection.open(p)
		if err != nil {
			if err = q.doubtful(err); err != nil {
				return err
			}
			continue
		}
		q.opened = true
		if err = q.take(frames); err != nil {
			return err
		}
	}
	if q.protection == nil {
		return malformed("no packet of QUIC with a long header")
	}
	return nil
}

// doubtful is an error of a packet that may be anybody's: of interest until one was
// authentic.
func (q *Initials) doubtful(err error) error {
	if q.opened {
		return nil
	}
	return err
}
