package multipath

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/nf"
)

// Multipath sends flows to one of the backends of Paths.
type Multipath struct{ Paths *Paths }

// SeesEveryPacket implements nf.Function.
func (m Multipath) SeesEveryPacket() bool { return false }

// Compile implements nf.Function.
func (m Multipath) Compile(c nf.Context) (p nf.Compiled, err error) {
	spec, err := loadMultipath()
	if err != nil {
		return p, fmt.Errorf("read multipath: %w", err)
	}
	tables, err := m.Paths.open(spec.Maps[multipathMapMultipathTables], c.States.Secret())
	if err != nil {
		return p, err
	}
	p.Kept = map[string]*ebpf.Map{multipathMapMultipathTables: tables}
	err = p.Take(spec.Programs[multipathProgNfMultipath], c)
	return p, err
}
