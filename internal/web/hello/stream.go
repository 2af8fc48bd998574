package hello

// The bounds of a Stream.
const (
	MaxBytes    = 16 << 10 // octets from the first; no hello seen is longer than 2 KB
	MaxSegments = 16       // segments with new octets
)

// Stream puts together the segments of one TCP stream by sequence number. The
// first octet that came for a number wins.
type Stream struct {
	first    uint32
	pieces   pieces
	segments int
	err      error
}

// NewStream begins a stream. first is the sequence number of its first octet:
// the initial one + 1.
func NewStream(first uint32) *Stream { return &Stream{first: first} }

// Add takes in a copy of the data of a segment. What lies before the first octet (as
// that of a keep-alive) or past MaxBytes is left out without an error: the name may
// stand before it, and the parser says ErrTooLong where it does not. Segments that
// bring nothing new are not counted. ErrDiffers if octets came before with other
// content (RFC 9293 leaves open which a host takes), ErrTooMany with more than
// MaxSegments: after either, each further call gives the same error.
func (s *Stream) Add(sequence uint32, data []byte) error {
	if s.err != nil {
		return s.err
	}
	offset := int(int32(sequence - s.first)) // numbers wrap
	if offset < 0 {
		data = data[min(-offset, len(data)):]
		offset = 0
	}
	if offset >= MaxBytes {
		return nil
	}
	fresh, err := s.pieces.put(offset, data[:min(len(data), MaxBytes-offset)])
	if fresh {
		s.segments++
	}
	if s.segments > MaxSegments {
		err = ErrTooMany
	}
	s.err = err
	return err
}

// Bytes are the contiguous octets from the first, at most MaxBytes. They must not
// be changed, and stay as they are when more are added.
func (s *Stream) Bytes() []byte { return s.pieces.start() }

// Size is how many octets of memory it has.
func (s *Stream) Size() int { return cap(s.pieces.octets) }
