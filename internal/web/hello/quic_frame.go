package hello

import (
	"bytes"

	"golang.org/x/crypto/cryptobyte"
)

// The frames that an Initial may hold (RFC 9000 §12.4).
const (
	framePadding = 0x00
	framePing    = 0x01
	frameAck     = 0x02
	frameAckECN  = 0x03
	frameCrypto  = 0x06
	frameClose   = 0x1c
)

var errFrame = malformed("a frame of QUIC that ends early")

// take goes through the frames of a packet and puts together what CRYPTO brings.
func (q *Initials) take(frames cryptobyte.String) error {
	for !frames.Empty() {
		var kind uint8 // of these in its shortest form, as it must be
		frames.ReadUint8(&kind)
		whole := true
		switch kind {
		case framePadding: // most of a packet: all at once
			frames = bytes.TrimLeft(frames, "\x00")
		case framePing:
		case frameAck, frameAckECN:
			whole = skipAck(&frames, kind == frameAckECN)
		case frameClose:
			var reason []byte
			whole = skipVarints(&frames, 2) && readVarBytes(&frames, &reason)
		case frameCrypto:
			if err := q.crypto(&frames); err != nil {
				return err
			}
		default:
			return malformed("a frame of QUIC that no Initial may hold")
		}
		if !whole {
			return errFrame
		}
	}
	return nil
}

// crypto takes in a CRYPTO frame (RFC 9000 §19.6).
func (q *Initials) crypto(frames *cryptobyte.String) error {
	var offset uint64
	var data []byte
	if !readVarint(frames, &offset) || !readVarBytes(frames, &data) {
		return errFrame
	}
	if offset > MaxBytes || int(offset)+len(data) > MaxBytes {
		return ErrTooLong
	}
	fresh, err := q.hello.put(int(offset), data)
	if fresh {
		q.frames++
	}
	if q.frames > maxFrames {
		return ErrTooMany
	}
	return err
}

// skipAck passes over an ACK frame behind its type (RFC 9000 §19.3).
func skipAck(frames *cryptobyte.String, ecn bool) bool {
	var ranges uint64
	if !skipVarints(frames, 2) || !readVarint(frames, &ranges) || ranges > uint64(len(*frames)) {
		return false
	}
	numbers := 1 + 2*int(ranges)
	if ecn {
		numbers += 3
	}
	return skipVarints(frames, numbers)
}

func skipVarints(frames *cryptobyte.String, number int) bool {
	var value uint64
	for range number {
		if !readVarint(frames, &value) {
			return false
		}
	}
	return true
}
