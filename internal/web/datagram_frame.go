package web

import (
	"encoding/binary"
	"errors"
)

const udpHeader = 8

// datagram is a frame with a UDP datagram.
type datagram struct {
	frame   []byte
	payload []byte
}

var errDatagram = errors.New("the frame holds no whole UDP datagram")

// parseDatagrams reads a frame, which is several datagrams where the kernel has put them together: each but the last has
// each octets then, and a frame of its own is made for it. The checksum of a single one is completed, as a segment's is.
func parseDatagrams(frame []byte, each int) ([]datagram, error) {
	if len(frame) < linkHeader+ipHeader+udpHeader || frame[linkHeader]>>4 != 4 {
		return nil, errDatagram
	}
	ip := frame[linkHeader:]
	header, total := int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
	if header < ipHeader || total > len(ip) || total < header+udpHeader {
		return nil, errDatagram
	}
	udp := ip[header:total]
	length := int(binary.BigEndian.Uint16(udp[4:]))
	if length < udpHeader || length > len(udp) {
		return nil, errDatagram
	}
	udp = udp[:length]
	if each > 0 && each < length-udpHeader {
		return split(frame[:linkHeader+header+udpHeader], udp[udpHeader:], each), nil
	}
	if binary.BigEndian.Uint16(udp[6:]) != 0 { // without one it is as good (RFC 768)
		if err := complete(udp[6:8], pseudoSum(ip[:header], length), udp); err != nil {
			return nil, err
		}
	}
	return []datagram{{frame: frame[:linkHeader+total], payload: udp[udpHeader:]}}, nil
}

// split makes frames of an aggregate's headers and payload.
func split(headers, payload []byte, each int) (list []datagram) {
	for len(payload) > 0 {
		n := min(each, len(payload))
		frame := append(append(make([]byte, 0, len(headers)+n), headers...), payload[:n]...)
		ip, udp := frame[linkHeader:len(headers)-udpHeader], frame[len(headers)-udpHeader:]
		binary.BigEndian.PutUint16(ip[2:], uint16(len(frame)-linkHeader))
		clear(ip[10:12])
		binary.BigEndian.PutUint16(ip[10:], ^fold(sum(ip)))
		binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
		clear(udp[6:8])
		binary.BigEndian.PutUint16(udp[6:], checksum(pseudoSum(ip, len(udp))+sum(udp)))
		list = append(list, datagram{frame: frame, payload: udp[udpHeader:]})
		payload = payload[n:]
	}
	return list
}

// checksum is a UDP header's, of which 0 says that there is none.
func checksum(total uint32) uint16 {
	if c := ^fold(total); c != 0 {
		return c
	}
	return 0xffff
}
