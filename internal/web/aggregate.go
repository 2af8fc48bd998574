package web

import (
	"encoding/binary"
	"slices"
)

// parseSegments reads a frame that may be an aggregate: segments of each octets that a sender, or GRO, has joined. What is
// sent again has to be as it was on the wire: nothing would divide it before a link that is too narrow for it.
func parseSegments(frame []byte, each int) ([]segment, error) {
	whole, err := parseSegment(frame)
	if err != nil || each <= 0 || len(whole.payload) <= each {
		return []segment{whole}, err
	}
	var list []segment
	for number, data := range slices.Collect(slices.Chunk(whole.payload, each)) {
		s, err := parseSegment(whole.cut(number, each, data))
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// cut is the frame of one of an aggregate's segments, with the headers that segmentation gives it.
func (s *segment) cut(number, each int, data []byte) []byte {
	headers := len(s.frame) - len(s.payload)
	frame := slices.Concat(s.frame[:headers], data)
	ip, tcp := frame[linkHeader:linkHeader+len(s.ip)], frame[linkHeader+len(s.ip):]
	binary.BigEndian.PutUint16(ip[2:], uint16(len(frame)-linkHeader))
	binary.BigEndian.PutUint16(ip[4:], binary.BigEndian.Uint16(ip[4:])+uint16(number))
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], ^fold(sum(ip)))
	binary.BigEndian.PutUint32(tcp[4:], s.sequence+uint32(number*each))
	if number*each+len(data) < len(s.payload) {
		tcp[13] &^= flagFIN | flagPSH // of the last alone
	}
	tcp[16], tcp[17] = 0, 0
	binary.BigEndian.PutUint16(tcp[16:], checksum(pseudoSum(ip, len(tcp))+sum(tcp)))
	return frame
}
