package cli

import (
	"encoding/binary"
	"io"

	"github.com/realmgate/realmgate/internal/client"
)

// The pcapng format (draft-ietf-opsawg-pcapng): blocks, each with its length before and behind, in the byte order that the
// first one shows; a value of an option is filled up to 4 octets.
const (
	pcapngSection   = 0x0a0d0d0a // Section Header Block
	pcapngMagic     = 0x1a2b3c4d
	pcapngInterface = 1 // Interface Description Block
	pcapngPacket    = 6 // Enhanced Packet Block
	pcapngEthernet  = 1 // LINKTYPE_ETHERNET

	pcapngEnd        = 0 // opt_endofopt
	pcapngComment    = 1 // opt_comment
	pcapngName       = 2 // if_name
	pcapngResolution = 9 // if_tsresol
	pcapngFlags      = 2 // epb_flags
	pcapngDropped    = 4 // epb_dropcount

	pcapngReceived = 1 // of epb_flags
	pcapngSent     = 2
)

// pcapngWriter writes each packet at once, so that a reader has it and an interrupted file is whole.
type pcapngWriter struct {
	out        io.Writer
	snap       int
	interfaces map[string]uint32
	lost       uint64 // until the last packet
}

func (w *pcapngWriter) begin(snap int) error {
	w.snap, w.interfaces = snap, map[string]uint32{}
	b := binary.LittleEndian.AppendUint32(nil, pcapngMagic)
	b = append(b, 1, 0, 0, 0)                                                      // version 1.0
	return w.block(pcapngSection, binary.LittleEndian.AppendUint64(b, ^uint64(0))) // of unknown length
}

func (w *pcapngWriter) add(p client.Packet) error {
	number, err := w.interfaceNumber(p.Interface)
	if err != nil {
		return err
	}
	at := uint64(p.Time.UnixNano()) //nolint:gosec // nobody captures before 1970
	direction := byte(pcapngReceived)
	if p.Sent {
		direction = pcapngSent
	}
	var b []byte
	for _, n := range []uint32{number, uint32(at >> 32), uint32(at), uint32(len(p.Data)), uint32(p.Length)} { //nolint:gosec // frames are shorter
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	b = filled(append(b, p.Data...))
	b = option(b, pcapngComment, []byte(p.Comment))
	b = option(b, pcapngFlags, []byte{direction, 0, 0, 0})
	b = option(b, pcapngDropped, binary.LittleEndian.AppendUint64(nil, p.Lost-w.lost))
	w.lost = p.Lost
	return w.block(pcapngPacket, option(b, pcapngEnd, nil))
}

// interfaceNumber is by which packets name their interface, which the file says when the first of them comes.
func (w *pcapngWriter) interfaceNumber(name string) (uint32, error) {
	if number, known := w.interfaces[name]; known {
		return number, nil
	}
	number := uint32(len(w.interfaces)) //nolint:gosec // a machine's interfaces
	w.interfaces[name] = number
	b := binary.LittleEndian.AppendUint32([]byte{pcapngEthernet, 0, 0, 0}, uint32(w.snap)) //nolint:gosec // at most client.MostSnap
	b = option(b, pcapngName, []byte(name))
	b = option(b, pcapngResolution, []byte{9}) // nanoseconds
	return number, w.block(pcapngInterface, option(b, pcapngEnd, nil))
}

func (w *pcapngWriter) block(kind uint32, body []byte) error {
	length := uint32(12 + len(body)) //nolint:gosec // a packet and its comment
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = append(binary.LittleEndian.AppendUint32(b, length), body...)
	_, err := w.out.Write(binary.LittleEndian.AppendUint32(b, length))
	return err
}

func option(b []byte, code uint16, value []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value))) //nolint:gosec // a line at most
	return filled(append(b, value...))
}

// filled adds what lacks to whole words.
func filled(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
