package chain

import (
	"fmt"
	"maps"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

const xdpDrop = 1 // enum xdp_action

// Where a chain's program leaves what it said.
const (
	packetVerdict  = int16(unsafe.Offsetof(classifierNfPacket{}.Verdict))
	packetFunction = int16(unsafe.Offsetof(classifierNfPacket{}.Function))
)

const licence = "Dual BSD/GPL"

// Shared are the tables by which the programs of a chain and the gateway work together
// (bpf/include/nf.h and tail.h).
type Shared struct{ Packets, Counts, Programs, Chains *ebpf.Map }

func (s Shared) find(name string) *ebpf.Map {
	return map[string]*ebpf.Map{"nf_packets": s.Packets, "nf_counts": s.Counts, "programs": s.Programs, "chains": s.Chains}[name]
}

// Function is a network function of a chain, as it is to be compiled.
type Function interface {
	// compile returns what is inlined, and the maps that it has for itself, which the
	// caller closes when the program is loaded.
	compile(Shared) (asm.Instructions, map[string]*ebpf.Map, error)
}

// Step is a function at its place in a chain. Number is its own in the table of counts.
type Step struct {
	Number   uint32
	Function Function
}

// Compile makes the program of a chain.
func Compile(name string, steps []Step, shared Shared) (program *ebpf.Program, err error) {
	var parts []part
	for i, s := range steps {
		body, own, err := s.Function.compile(shared)
		defer closeMaps(own)
		if err != nil {
			return nil, fmt.Errorf("chain %s: function %d: %w", name, i+1, err)
		}
		parts = append(parts, part{s.Number, body})
	}
	instructions, err := splice(parts, shared)
	if err == nil {
		program, err = ebpf.NewProgram(&ebpf.ProgramSpec{Name: "chain", Type: ebpf.XDP, AttachType: ebpf.AttachXDP, Instructions: instructions, License: licence})
	}
	if err != nil {
		return nil, fmt.Errorf("chain %s: the kernel refuses its program: %w", name, err)
	}
	return program, nil
}

// Classifier makes the program that finds the chain of a packet: the value of the first
// rule that matches is the chain's number.
func Classifier(rules []Rule, shared Shared) (program *ebpf.Program, err error) {
	t, err := compile(rules)
	if err != nil {
		return nil, err
	}
	spec, err := loadClassifier()
	if err != nil {
		return nil, fmt.Errorf("read the classifier: %w", err)
	}
	own, err := t.own(spec, shared)
	if err != nil {
		return nil, err
	}
	defer closeMaps(own)
	all := maps.Clone(own)
	for name := range spec.Maps {
		if m := shared.find(name); m != nil {
			all[name] = m
		}
	}
	var objects struct {
		Program *ebpf.Program `ebpf:"classifier"`
	}
	if err := spec.LoadAndAssign(&objects, &ebpf.CollectionOptions{MapReplacements: all}); err != nil {
		return nil, fmt.Errorf("load the classifier: %w", err)
	}
	return objects.Program, nil
}
