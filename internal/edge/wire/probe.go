package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/realmgate/realmgate/internal/siphash"
)

// LeastProbe is how many octets the outer packet of a probe has at least.
const LeastProbe = Overhead + 8

// ErrProbe is of a packet that is no probe, or whose authenticator is wrong.
var ErrProbe = errors.New("not a probe of a peer")

// AppendProbe appends the UDP payload of a probe of the path MTU: a GENEVE packet with the O bit, which the kernel's
// programs leave to the gateway's socket. Size is how many octets the outer packet has, LeastProbe at least.
func AppendProbe(buf []byte, h Header, nonce uint64, size int) []byte {
	start, length := len(buf), max(size, LeastProbe)-atGENEVE
	buf = append(buf, make([]byte, length)...)
	p := buf[start:]
	putGENEVE(p, h, flagControl, probeAuthenticator(h.Key, h.VNI, nonce, length+atGENEVE))
	binary.BigEndian.PutUint64(p[Overhead-atGENEVE:], nonce)
	return buf
}

// ReadProbe reads the UDP payload of a probe. Key gives the key by which a peer writes, false where there is none.
func ReadProbe(payload []byte, key func(vni uint32, epoch uint8) ([16]byte, bool)) (vni uint32, nonce uint64, size int, err error) {
	h, flags, ok := readGENEVE(payload)
	size = len(payload) + atGENEVE
	if !ok || flags&flagControl == 0 || size < LeastProbe || size > MostMTU {
		return 0, 0, 0, ErrProbe
	}
	k, ok := key(h.VNI, h.Epoch)
	if !ok {
		return 0, 0, 0, fmt.Errorf("%w: no key of VNI %d, epoch %d", ErrProbe, h.VNI, h.Epoch)
	}
	nonce = binary.BigEndian.Uint64(payload[Overhead-atGENEVE:])
	if probeAuthenticator(k, h.VNI, nonce, size) != h.Authenticator {
		return 0, 0, 0, fmt.Errorf("%w: its authenticator is wrong", ErrProbe)
	}
	return h.VNI, nonce, size, nil
}

// probeAuthenticator covers, in 24 octets: the nonce (8), VNI (3), 0xff (1, which is no inner protocol of an edge), the
// size (2), zeros.
func probeAuthenticator(key [16]byte, vni uint32, nonce uint64, size int) uint64 {
	var covered [24]byte
	binary.BigEndian.PutUint64(covered[:], nonce)
	binary.BigEndian.PutUint32(covered[8:], vni<<8|0xff)
	binary.BigEndian.PutUint16(covered[12:], uint16(size))
	return siphash.Sum(&key, covered[:])
}
