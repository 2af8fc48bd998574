package nf

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/model"
)

const licence = "Dual BSD/GPL"

// Shared are the tables by which the programs of a chain and the gateway work together
// (bpf/include/nf.h, tail.h and capture.h). Chains has those of XDP, TCXChains those of
// socket buffers: programs are made for what is not nil. With Trace, which dry runs have,
// they write down there what each function says (bpf/trace/trace.h).
type Shared struct{ Packets, Counts, Chains, Snaps, Rings, TCXChains, Trace *ebpf.Map }

func (s Shared) find(name string) *ebpf.Map {
	return map[string]*ebpf.Map{
		"nf_packets": s.Packets, "nf_counts": s.Counts, "chains": s.Chains,
		"capture_snaps": s.Snaps, "capture_rings": s.Rings,
	}[name]
}

// Step is a function at its place in a chain.
type Step struct {
	Name     string // unique among all
	Number   uint32 // its own in the table of counts
	Function Function
	FailOpen bool  // the next says where it cannot; else the packet is dropped
	Jumps    []int // places of the chains that it may go on in
}

// Chain is a sequence of functions for the flows that Rules match.
type Chain struct {
	Name  string
	Rules []Rule // Value is not looked at
	// Dnat: its functions say where flows go (dnat, multipath). It is asked about those from
	// outside, as they came, before names and mappings are.
	Dnat  bool
	Steps []Step
}

// Set are the programs of one generation for one hook.
type Set struct {
	Classifier *ebpf.Program
	Dnat       *ebpf.Program   // the classifier of dnat chains, nil where there are none
	Protection *ebpf.Program   // of IPv6 packets; nil where it has no IPv6 addresses
	Chains     []*ebpf.Program // by their numbers, from the first on
}

func (s *Set) close() {
	for _, program := range append(s.Chains, s.Classifier, s.Dnat, s.Protection) {
		_ = program.Close() // what is in force keeps it
	}
}

// Programs are those of one generation.
type Programs struct {
	XDP, TCX Set
	In, Out  uint32 // what judges flows of a direction: the number of their only chain, ByClassifier, or 0 for nothing
	Input    uint32 // the number of the protection alone, which judges packets that no chain is for; 0 for none
	Honeypot bool   // there is a honeypot
	Bytes    uint64 // of memory, with the tables that are theirs alone, when they are made
}

// Close gives up the programs; what is in force stays so.
func (p *Programs) Close() {
	p.XDP.close()
	p.TCX.close()
}

// Policy is what judges flows.
type Policy struct {
	Protection []Step // is asked about every flow before the chain that is for it, and where none is
	Chains     []Chain
}

// Build compiles a policy. The numbers of its programs begin at first; states are kept
// from one generation to the next.
func Build(policy Policy, shared Shared, first uint32, states *States) (made Programs, err error) {
	b := &builder{Policy: policy, shared: shared, states: states, first: first, variants: map[string]uint32{}, compiled: map[*Step]*Compiled{}, depths: map[uint32]int{}}
	hooks := hooksOf(shared)
	b.hooks = hooks
	defer func() {
		b.close()
		for _, h := range hooks {
			if h.buffer {
				made.TCX = h.made
			} else {
				made.XDP = h.made
			}
			made.Bytes = h.memory.bytes
		}
		if err != nil {
			made.Close()
		}
	}()
	var rules, dnat []Rule
	for i, c := range policy.Chains {
		number, err := b.entry(i)
		if err != nil {
			return made, fmt.Errorf("chains: %w", err)
		}
		for _, r := range c.Rules {
			r.Value = number
			if c.Dnat {
				dnat = append(dnat, r)
			} else {
				rules = append(rules, r)
			}
		}
	}
	if len(policy.Protection) > 0 {
		number, err := b.sequence(b.protected(), packetPrograms{}, 0)
		if err != nil {
			return made, fmt.Errorf("protection: %w", err)
		}
		made.Input = number
		made.Honeypot = slices.ContainsFunc(policy.Protection, func(s Step) bool { return s.Function == Honeypot{} })
		rules = append(rules, Rule{Value: number})
		if err := protection6(policy.Protection, shared, hooks); err != nil {
			return made, fmt.Errorf("protection: %w", err)
		}
	}
	if err := classifier(rules, shared, hooks, func(s *Set) **ebpf.Program { return &s.Classifier }); err != nil {
		return made, fmt.Errorf("chains: %w", err)
	}
	if len(dnat) > 0 {
		if err := classifier(dnat, shared, hooks, func(s *Set) **ebpf.Program { return &s.Dnat }); err != nil {
			return made, fmt.Errorf("chains: %w", err)
		}
	}
	made.In, made.Out = entry(rules, model.In), entry(rules, model.Out)
	return made, nil
}

// ByClassifier is the number of no program: which chain it is depends on more than the
// direction.
const ByClassifier = uint32(classifierEntryENTRY_CLASSIFIER)

// entry is what flows of a direction are judged by. Where one chain takes all of them the
// classifier need not be asked.
func entry(rules []Rule, d model.Direction) uint32 {
	for _, r := range rules {
		switch {
		case r.Direction != model.AnyDirection && r.Direction != d:
		case r == Rule{Direction: r.Direction, Value: r.Value}:
			return r.Value
		default:
			return ByClassifier
		}
	}
	return 0
}
