package firstbytes

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/nf"
)

// FirstBytes drops flows that begin with a signature of Deny and, unless Allow is empty,
// those that begin with none of Allow.
type FirstBytes struct{ Deny, Allow []Signature }

// SeesEveryPacket implements nf.Function: until it has seen the flow's first bytes.
func (f FirstBytes) SeesEveryPacket() bool { return true }

// WaitsForBytes implements nf.Waiter.
func (FirstBytes) WaitsForBytes() bool { return true }

// Check implements nf.Checker.
func (f FirstBytes) Check() error {
	_, err := f.automaton()
	return err
}

// Compile implements nf.Function.
func (f FirstBytes) Compile(c nf.Context) (p nf.Compiled, err error) {
	nodes, err := f.automaton()
	if err != nil {
		return p, err
	}
	spec, err := loadFirstBytes()
	if err != nil {
		return p, fmt.Errorf("read first-bytes: %w", err)
	}
	table, err := nf.ArrayOf(spec.Maps[firstBytesMapFirstBytesNodes], nodes)
	if err != nil {
		return p, fmt.Errorf("make %s: %w", firstBytesMapFirstBytesNodes, err)
	}
	p.Maps = map[string]*ebpf.Map{firstBytesMapFirstBytesNodes: table}
	buffer, err := loadFirstBytesTCX()
	if err != nil {
		return p, fmt.Errorf("read first-bytes: %w", err)
	}
	err = p.TakeBoth(spec.Programs[firstBytesProgNfFirstBytes], buffer.Programs[firstBytesProgNfFirstBytes], c)
	return p, err
}
