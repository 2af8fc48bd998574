package cli

import (
	"encoding/binary"
	"io"

	"github.com/realmgate/realmgate/internal/client"
)

// The pcap format with times in nanoseconds (draft-ietf-opsawg-pcap): a header of 24
// octets, and one of 16 before each packet, in the byte order that the magic number
// shows.
const (
	pcapMagic    = 0xa1b23c4d
	pcapMajor    = 2
	pcapMinor    = 4
	pcapEthernet = 1 // LINKTYPE_ETHERNET
)

// pcapWriter writes each packet at once, so that a reader has it and an interrupted
// file is whole.
type pcapWriter struct{ out io.Writer }

func (w pcapWriter) begin(snap int) error {
	header := binary.LittleEndian.AppendUint32(nil, pcapMagic)
	header = binary.LittleEndian.AppendUint16(header, pcapMajor)
	header = binary.LittleEndian.AppendUint16(header, pcapMinor)
	header = append(header, make([]byte, 8)...) // two fields that are always 0
	header = binary.LittleEndian.AppendUint32(header, uint32(snap))
	header = binary.LittleEndian.AppendUint32(header, pcapEthernet)
	_, err := w.out.Write(header)
	return err
}

func (w pcapWriter) add(p client.Packet) error {
	record := make([]byte, 0, 16+len(p.Data))
	for _, n := range []int{int(p.Time.Unix()), p.Time.Nanosecond(), len(p.Data), p.Length} {
		record = binary.LittleEndian.AppendUint32(record, uint32(n))
	}
	_, err := w.out.Write(append(record, p.Data...))
	return err
}
