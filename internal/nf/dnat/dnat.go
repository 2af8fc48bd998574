package dnat

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/nf"
)

// Dnat is the private endpoint. Port 0 leaves flows their own.
type Dnat struct {
	Address netip.Addr // IPv4
	Port    uint16
}

// SeesEveryPacket implements nf.Function.
func (d Dnat) SeesEveryPacket() bool { return false }

// Compile implements nf.Function.
func (d Dnat) Compile(c nf.Context) (p nf.Compiled, err error) {
	spec, err := loadDnat()
	if err != nil {
		return p, fmt.Errorf("read dnat: %w", err)
	}
	address := d.Address.As4()
	target := dnatDnatTarget{Address: binary.NativeEndian.Uint32(address[:]), Port: bits.ReverseBytes16(d.Port)}
	targets, err := nf.ArrayOf(spec.Maps[dnatMapDnatTargets], []dnatDnatTarget{target})
	if err != nil {
		return p, fmt.Errorf("make %s: %w", dnatMapDnatTargets, err)
	}
	p.Maps = map[string]*ebpf.Map{dnatMapDnatTargets: targets}
	err = p.Take(spec.Programs[dnatProgNfDnat], c)
	return p, err
}
