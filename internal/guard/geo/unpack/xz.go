package unpack

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// mostWindow is how far back a compressed file may refer, in bytes: what its reader has to
// hold. Debian's packages use 8 MiB.
const mostWindow = 64 << 20

var errXZ = errors.New("the xz stream is damaged or not complete")

// checkXZ goes through the blocks of an xz stream without unpacking them, and refuses one
// whose dictionary is large: its reader takes the memory that a block's header asks for,
// up to 4 GiB. What else is wrong with the stream is for the reader to find. The format is
// "The .xz File Format", version 1.2.1.
func checkXZ(data []byte) error {
	const header = 12
	if len(data) < header {
		return errXZ
	}
	checkSize := xzCheckSize(data[7])
	for at := header; ; {
		if at >= len(data) {
			return errXZ
		}
		if data[at] == 0 { // the index follows, no further block
			return nil
		}
		size := (int(data[at]) + 1) * 4
		if size > len(data)-at {
			return errXZ
		}
		if err := checkDictionary(data[at : at+size]); err != nil {
			return err
		}
		at += size
		length, err := lzma2Length(data[at:])
		if err != nil {
			return err
		}
		at += (length+3)/4*4 + checkSize
	}
}

// xzCheckSize returns the size of the check after each block, by the stream's flags.
func xzCheckSize(flags byte) int {
	kind := int(flags & 15)
	if kind == 0 {
		return 0
	}
	return 4 << ((kind - 1) / 3) // 4, 8, 16, 32 and 64 bytes, three kinds of each
}

// checkDictionary reads a block's header.
func checkDictionary(header []byte) error {
	flags := header[1]
	if flags&3 != 0 {
		return errors.New("the xz stream has filters other than LZMA2")
	}
	rest := header[2:]
	for _, given := range []byte{0x40, 0x80} { // the packed and the unpacked size
		if flags&given != 0 {
			_, n := binary.Uvarint(rest)
			if n <= 0 {
				return errXZ
			}
			rest = rest[n:]
		}
	}
	if len(rest) < 3 || rest[0] != 0x21 || rest[1] != 1 { // LZMA2, with one byte
		return errors.New("the xz stream has a filter other than LZMA2")
	}
	// 2 or 3, times a power of two: 0 stands for 4 KiB, 40 for 4 GiB.
	if bits := rest[2]; bits > 40 || (2|uint64(bits&1))<<(bits/2+11) > mostWindow {
		return fmt.Errorf("%w: its dictionary has more than %d bytes", ErrTooLarge, mostWindow)
	}
	return nil
}

// lzma2Length returns the length of the chunks of a block.
func lzma2Length(data []byte) (int, error) {
	at := 0
	for at < len(data) {
		control := data[at]
		if control == 0 {
			return at + 1, nil
		}
		head := 6
		switch {
		case control < 0x80:
			head = 3
		case control < 0xc0: // without properties
			head = 5
		}
		if head > len(data)-at {
			break
		}
		if control < 0x80 {
			at += head + int(binary.BigEndian.Uint16(data[at+1:])) + 1
		} else {
			at += head + int(binary.BigEndian.Uint16(data[at+3:])) + 1
		}
	}
	return 0, errXZ
}
