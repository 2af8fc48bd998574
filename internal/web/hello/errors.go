package hello

import "errors"

// What there is instead of a name. Each but ErrShort is final: no further octets
// of this connection will give one.
var (
	// ErrShort: so far all is well, more octets are needed.
	ErrShort = errors.New("the name has not come yet")
	// ErrNoName: complete and well-formed, but it names nobody, or gives an address.
	ErrNoName = errors.New("no name is given")
	// ErrMalformed: not the protocol, or not as it demands. The error's text says what.
	ErrMalformed = errors.New("malformed")
	// ErrTooLong: no name within MaxBytes.
	ErrTooLong = errors.New("no name in the first 16 KB")
	// ErrDiffers: octets came twice, and not the same.
	ErrDiffers = errors.New("octets were sent again with other content")
	// ErrTooMany: more segments, datagrams or frames than are put together.
	ErrTooMany = errors.New("cut into too many pieces")
	// ErrVersion: a version of QUIC other than 1 and 2.
	ErrVersion = errors.New("unknown version of QUIC")
)

// malformed is an ErrMalformed that says what is wrong, without an allocation.
type malformed string

func (m malformed) Error() string { return "malformed: " + string(m) }

// Is makes each malformed an ErrMalformed.
func (malformed) Is(target error) bool { return target == ErrMalformed }

// unfinished is the error of octets that end before the name.
func unfinished(octets []byte) error {
	if len(octets) >= MaxBytes {
		return ErrTooLong
	}
	return ErrShort
}
