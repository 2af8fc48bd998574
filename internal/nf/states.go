package nf

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
	looking       bool
}

// Secret is what keys are hashed with, so that nobody outside can choose where they
// stand.
func (s *States) Secret() uint64 {
	if s.seed == 0 {
		var drawn [8]byte
		_, _ = rand.Read(drawn[:]) // it never fails
		s.seed = binary.NativeEndian.Uint64(drawn[:])
	}
	return s.seed
}

// Table returns the function's table for the generation that is being built.
func (s *States) Table(name string, spec *ebpf.MapSpec) (*ebpf.Map, error) {
	return s.from(s.inForce, name, spec)
}

// Written is Table of a function that may write to it whenever it is asked, also about
// packets that nobody sent: who only looks gets an empty one.
func (s *States) Written(name string, spec *ebpf.MapSpec) (*ebpf.Map, error) {
	if s.looking {
		return s.from(nil, name, spec)
	}
	return s.Table(name, spec)
}

// from returns the function's table, which is one of before if that has it.
func (s *States) from(before map[string]*ebpf.Map, name string, spec *ebpf.MapSpec) (*ebpf.Map, error) {
	name = fmt.Sprintf("%s of %d", name, spec.MaxEntries)
	if m := s.next[name]; m != nil {
		return m, nil
	}
	m := before[name]
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

// Look returns states that know the tables in force and change nothing of them.
func (s *States) Look() *States { return &States{inForce: s.inForce, seed: s.seed, looking: true} }

func discard(these, but map[string]*ebpf.Map) {
	for name, m := range these {
		if but[name] != m {
			_ = m.Close() // programs that use it keep it
		}
	}
}
