package hello

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// version is what differs between the versions of QUIC.
type version struct {
	salt  string
	label string // before "key", "iv", "hp"
	shift uint8  // of the packets' types (RFC 9369 §3.2)
}

// versions by their number: RFC 9001 §5.2 and §5.1, RFC 9369 §3.
var versions = map[uint32]*version{
	1: {
		salt:  "\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a",
		label: "quic ",
	},
	0x6b3343cf: {
		salt:  "\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9",
		label: "quicv2 ",
		shift: 1,
	},
}

// protection opens a client's Initials (RFC 9001 §5).
type protection struct {
	version *version
	payload cipher.AEAD
	header  cipher.Block
	iv      []byte

	// Kept from packet to packet.
	mask       [aes.BlockSize]byte
	nonce      [12]byte
	associated []byte
	plain      []byte
}

// newProtection derives the keys from the first packet.
func newProtection(p packet) (*protection, error) {
	if len(p.destination) < leastID {
		return nil, malformed("a first connection ID of QUIC of less than 8 octets")
	}
	s := &protection{version: p.version}
	if err := s.derive(p.destination, "client in"); err != nil {
		return nil, fmt.Errorf("deriving the keys of QUIC's Initials: %w", err)
	}
	return s, nil
}

// derive makes one side's keys (RFC 9001 §5.1, §5.2).
func (s *protection) derive(id []byte, side string) error {
	secret, err := s.version.secret(id, side)
	if err != nil {
		return err
	}
	key, errKey := expandLabel(secret, s.version.label+"key", 16)
	iv, errIV := expandLabel(secret, s.version.label+"iv", len(s.nonce))
	header, errHeader := expandLabel(secret, s.version.label+"hp", 16)
	if err := errors.Join(errKey, errIV, errHeader); err != nil {
		return err
	}
	s.iv = iv
	if s.header, err = aes.NewCipher(header); err != nil {
		return err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	s.payload, err = cipher.NewGCM(block)
	return err
}

// secret is what one side's keys are made of.
func (v *version) secret(id []byte, side string) ([]byte, error) {
	initial, err := hkdf.Extract(sha256.New, id, []byte(v.salt))
	if err != nil {
		return nil, err
	}
	return expandLabel(initial, side, sha256.Size)
}

// expandLabel is HKDF-Expand-Label without context (RFC 8446 §7.1).
func expandLabel(secret []byte, label string, length int) ([]byte, error) {
	label = "tls13 " + label
	info := string([]byte{0, byte(length), byte(len(label))}) + label + "\x00"
	return hkdf.Expand(sha256.New, secret, info, length)
}

// open takes both protections off a packet (RFC 9001 §5.3, §5.4). The frames are
// valid until the next call.
func (s *protection) open(p packet) (frames []byte, err error) {
	if len(p.payload) < 4+len(s.mask) {
		return nil, malformed("an Initial of QUIC that ends early")
	}
	s.header.Encrypt(s.mask[:], p.payload[4:4+len(s.mask)])
	first := p.header[0] ^ s.mask[0]&0x0f
	length := int(first&3) + 1
	s.associated = append(s.associated[:0], p.header...)
	s.associated[0] = first
	for i, octet := range p.payload[:length] {
		s.associated = append(s.associated, octet^s.mask[1+i])
	}
	// The number is whole: a client has sent nothing that would let it be cut.
	var number [4]byte
	copy(number[4-length:], s.associated[len(p.header):])
	copy(s.nonce[:], s.iv)
	tail := s.nonce[len(s.nonce)-4:]
	binary.BigEndian.PutUint32(tail, binary.BigEndian.Uint32(tail)^binary.BigEndian.Uint32(number[:]))
	s.plain, err = s.payload.Open(s.plain[:0], s.nonce[:], p.payload[length:], s.associated)
	if err != nil {
		return nil, malformed("an Initial of QUIC that is not authentic")
	}
	if first&0x0c != 0 { // RFC 9000 §17.2
		return nil, malformed("an Initial of QUIC with reserved bits")
	}
	return s.plain, nil
}
