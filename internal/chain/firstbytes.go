package chain

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// FirstBytes is the function "first-bytes": it drops flows that begin with a signature
// of Deny and, unless Allow is empty, those that begin with none of Allow.
type FirstBytes struct{ Deny, Allow []Signature }

// SeesEveryPacket implements Function: until it has seen the flow's first bytes.
func (f FirstBytes) SeesEveryPacket() bool { return true }

// waits reports whether a function is to be asked only until the first bytes of a flow
// have come.
func waits(f Function) bool {
	_, is := f.(FirstBytes)
	return is
}

func (f FirstBytes) check() error {
	_, err := f.automaton()
	return err
}

func (f FirstBytes) compile(_ string, shared Shared, _ *States) (p piece, err error) {
	nodes, err := f.automaton()
	if err != nil {
		return p, err
	}
	spec, err := loadFirstBytes()
	if err != nil {
		return p, fmt.Errorf("read first-bytes: %w", err)
	}
	table, err := arrayOf(spec.Maps[firstBytesMapFirstBytesNodes], nodes)
	if err != nil {
		return p, fmt.Errorf("make %s: %w", firstBytesMapFirstBytesNodes, err)
	}
	p.maps = map[string]*ebpf.Map{firstBytesMapFirstBytesNodes: table}
	buffer, err := loadFirstBytesTCX()
	if err != nil {
		return p, fmt.Errorf("read first-bytes: %w", err)
	}
	err = p.takeBoth(spec.Programs[firstBytesProgNfFirstBytes], buffer.Programs[firstBytesProgNfFirstBytes], shared)
	return p, err
}
