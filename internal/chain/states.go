package chain

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/cilium/ebpf"
)

// States are the tables in which functions remember flows and sources. A function keeps
// its own from one generation to the next as long as it has its name and size. Not safe
// for concurrent use.
type States struct {
	inForce, next map[string]*ebpf.Map
	seed          uint64
}

// secret is what keys are hashed with, so that nobody outside can choose where they
// stand.
func (s *States) secret() uint64 {
	if s.seed == 0 {
		var drawn [8]byte
		_, _ = rand.Read(drawn[:]) // it never fails
		s.seed = binary.NativeEndian.Uint64(drawn[:])
	}
	return s.seed
}

// table returns the function's table for the generation that is being built.
func (s *States) table(name string, spec *ebpf.MapSpec) (*ebpf.Map, error) {
	name = fmt.Sprintf("%s of %d", name, spec.MaxEntries)
	if m := s.next[name]; m != nil {
		return m, nil
	}
	m := s.inForce[name]
	if m == nil {
		var err error
		if m, err = ebpf.NewMap(spec); err != nil {
			return nil, fmt.Errorf("make its table of %d entries: %w", spec.MaxEntries, err)
		}
	}
	if s.next == nil {
		s.next = map[string]*ebpf.Map{}
	}
	s.next[name] = m
	return m, nil
}

// Keep gives up what the generation that was built last does not use.
func (s *States) Keep() {
	discard(s.inForce, s.next)
	s.inForce, s.next = s.next, nil
}

// Forget gives up what the generation in force does not use.
func (s *States) Forget() {
	discard(s.next, s.inForce)
	s.next = nil
}

// look returns states that know the tables in force and change nothing of them.
func (s *States) look() *States { return &States{inForce: s.inForce, seed: s.seed} }

func discard(these, but map[string]*ebpf.Map) {
	for name, m := range these {
		if but[name] != m {
			_ = m.Close() // programs that use it keep it
		}
	}
}
