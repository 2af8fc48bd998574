package wire

import (
	"encoding/binary"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/siphash"
)

// Authenticator is SipHash-2-4 over 24 octets of an inner IPv4 packet, whose addresses are tags, and the link's VNI:
//
//	0  source (4), destination (4): both tags
//	8  VNI (3), protocol (1), total length (2), flags and fragment offset (2)
//	16 the first 8 octets behind the IP header, zeros where there are fewer
//
// Octets 6 and 7 of the last part are zeros where the protocol is UDP, in every fragment: its checksum is not covered, as its
// payload is not, so that it does not matter who fills it. An inner packet shorter than an IP header has none: 0.
func Authenticator(key [16]byte, vni uint32, inner []byte) uint64 {
	head := 20
	if len(inner) >= head {
		head = int(inner[0]&0x0f) * 4
	}
	if head < 20 || len(inner) < head {
		return 0
	}
	var covered [24]byte
	copy(covered[:], inner[12:20])
	binary.BigEndian.PutUint32(covered[8:], vni<<8)
	covered[11] = inner[9]
	copy(covered[12:14], inner[2:4])
	copy(covered[14:16], inner[6:8])
	copy(covered[16:], inner[head:])
	if model.Protocol(inner[9]) == model.UDP {
		covered[22], covered[23] = 0, 0
	}
	return siphash.Sum(&key, covered[:])
}
