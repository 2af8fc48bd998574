package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The pcap format (draft-ietf-opsawg-pcap): a header of 24 octets, and one of 16 before
// each packet, in the byte order that the magic number shows.
const (
	magicMicroseconds = 0xa1b2c3d4
	magicNanoseconds  = 0xa1b23c4d
	magicNext         = 0x0a0d0d0a // of pcapng
	fileHeader        = 24
	recordHeader      = 16
	mostRecord        = 256 << 10 // tcpdump's own limit
)

// Link types, and how many octets stand before the EtherType.
var linkTypes = map[uint32]int{
	1:   12, // Ethernet
	113: 14, // Linux's cooked capture, of all interfaces
	276: 0,  // the same, second version, whose type comes first
}

const linkRaw = 101 // IP without anything before it

// errNext says what to do with the other format.
var errNext = errors.New("this is pcapng: convert it with editcap -F pcap IN OUT")

// readPackets calls each with what follows the link's header of every packet, and its
// EtherType. whole is false where the capture cut it.
func readPackets(in io.Reader, each func(etherType uint16, packet []byte, whole bool)) error {
	header := make([]byte, fileHeader)
	if _, err := io.ReadFull(in, header); err != nil {
		return fmt.Errorf("read the capture's header: %w", err)
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch order.Uint32(header) {
	case magicNext:
		return errNext
	case magicMicroseconds, magicNanoseconds:
	default:
		order = binary.BigEndian
		if magic := order.Uint32(header); magic != magicMicroseconds && magic != magicNanoseconds {
			return errors.New("this is no capture in the format of pcap")
		}
	}
	link := order.Uint32(header[20:]) & 0xffff
	before, known := linkTypes[link]
	if !known && link != linkRaw {
		return fmt.Errorf("a capture of link type %d: want Ethernet, Linux's cooked capture or raw IP", link)
	}
	record := make([]byte, recordHeader)
	for n := 1; ; n++ {
		if _, err := io.ReadFull(in, record); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read packet %d: %w", n, err)
		}
		captured, length := order.Uint32(record[8:]), order.Uint32(record[12:])
		if captured > mostRecord {
			return fmt.Errorf("packet %d has %d octets: the capture is damaged", n, captured)
		}
		packet := make([]byte, captured)
		if _, err := io.ReadFull(in, packet); err != nil {
			return fmt.Errorf("read packet %d: %w", n, err)
		}
		if etherType, rest, ok := network(link, before, packet); ok {
			each(etherType, rest, captured == length)
		}
	}
}

// network takes away the link's header, VLAN tags with it.
func network(link uint32, before int, packet []byte) (etherType uint16, rest []byte, ok bool) {
	if link == linkRaw {
		return typeIPv4, packet, len(packet) > 0 && packet[0]>>4 == 4
	}
	const cookedHeader = 20 // of the second version
	if len(packet) < before+2 || link == 276 && len(packet) < cookedHeader {
		return 0, nil, false
	}
	etherType, rest = binary.BigEndian.Uint16(packet[before:]), packet[before+2:]
	if link == 276 {
		rest = packet[cookedHeader:]
	}
	for (etherType == typeVLAN || etherType == typeQinQ) && len(rest) >= 4 {
		etherType, rest = binary.BigEndian.Uint16(rest[2:]), rest[4:]
	}
	return etherType, rest, true
}
