package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// What a frame may be. VersionLeast and VersionMost are the versions of the messages that this build speaks.
const (
	Most         = 64 << 10 // octets of a frame, without its length
	Depth        = 8        // objects and lists in each other
	ALPN         = "ces/1"
	VersionLeast = 1
	VersionMost  = 1
)

// What is wrong with a frame. All end the connection.
var (
	ErrTooLong   = errors.New("frame is longer than 65536 octets")
	ErrMalformed = errors.New("malformed message")
	ErrTwice     = errors.New("a key is there twice")
	ErrDeep      = errors.New("objects and lists are nested more than 8 deep")
)

// Read reads one frame: its length in four octets, big-endian, and one message. A message of a type that nobody knows is
// nil without an error, as a newer edge may say more.
func Read(r *bufio.Reader) (Message, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length > Most {
		return nil, fmt.Errorf("%w: it says %d", ErrTooLong, length)
	}
	octets := make([]byte, length)
	if _, err := io.ReadFull(r, octets); err != nil {
		return nil, fmt.Errorf("reading a frame of %d octets: %w", length, err)
	}
	return Decode(octets)
}

// Append appends the frame of a message, which has to keep the bounds that Decode holds a peer to.
func Append(buf []byte, m Message) ([]byte, error) {
	if err := m.check(); err != nil {
		return buf, fmt.Errorf("%s: %w", m.Type(), err)
	}
	body, err := json.Marshal(m)
	if err != nil {
		return buf, fmt.Errorf("%s: %w", m.Type(), err)
	}
	start := len(buf)
	buf = append(append(append(buf, 0, 0, 0, 0), `{"type":"`+m.Type()+`"`...), ',')
	if body[1] == '}' {
		buf = buf[:len(buf)-1]
	}
	buf = append(buf, body[1:]...)
	length := len(buf) - start - 4
	if length > Most {
		return buf[:start], fmt.Errorf("%s: %w: it has %d", m.Type(), ErrTooLong, length)
	}
	binary.BigEndian.PutUint32(buf[start:], uint32(length))
	return buf, nil
}

// Decode reads the message of a frame; see Read.
func Decode(octets []byte) (Message, error) {
	if len(octets) > Most {
		return nil, fmt.Errorf("%w: it has %d", ErrTooLong, len(octets))
	}
	if !utf8.Valid(octets) {
		return nil, fmt.Errorf("%w: it is not UTF-8", ErrMalformed)
	}
	if err := walk(octets); err != nil {
		return nil, err
	}
	var kind struct {
		Type *string `json:"type"`
	}
	if err := json.Unmarshal(octets, &kind); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if kind.Type == nil {
		return nil, fmt.Errorf("%w: it has no type", ErrMalformed)
	}
	decode, known := kinds[*kind.Type]
	if !known {
		return nil, nil
	}
	m, err := decode(octets)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMalformed, *kind.Type, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", *kind.Type, err)
	}
	return m, nil
}

// decode reads one type of message.
func decode[M Message](octets []byte) (Message, error) {
	var m M
	err := json.Unmarshal(octets, &m)
	return m, err
}
