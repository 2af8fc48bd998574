package chain

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"

	"github.com/cilium/ebpf"
)

// Dnat is the function "dnat": it says to which private endpoint flows from outside go.
// Port 0 leaves them their own.
type Dnat struct {
	Address netip.Addr // IPv4
	Port    uint16
}

// SeesEveryPacket implements Function.
func (d Dnat) SeesEveryPacket() bool { return false }

func (d Dnat) compile(_ string, shared Shared, _ *States) (p piece, err error) {
	spec, err := loadDnat()
	if err != nil {
		return p, fmt.Errorf("read dnat: %w", err)
	}
	address := d.Address.As4()
	target := dnatDnatTarget{Address: binary.NativeEndian.Uint32(address[:]), Port: bits.ReverseBytes16(d.Port)}
	targets, err := arrayOf(spec.Maps[dnatMapDnatTargets], []dnatDnatTarget{target})
	if err != nil {
		return p, fmt.Errorf("make %s: %w", dnatMapDnatTargets, err)
	}
	p.maps = map[string]*ebpf.Map{dnatMapDnatTargets: targets}
	err = p.take(spec.Programs[dnatProgNfDnat], shared)
	return p, err
}
