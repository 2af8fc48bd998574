package nf

import (
	"errors"
	"fmt"
	"maps"

	"github.com/cilium/ebpf"
)

// Trial is chains beside those in force, with tables of their own and no gateway around them.
type Trial struct {
	Shared Shared
	Made   Programs
	Policy Policy
}

// NewTrial makes the tables. There is no gateway in them that programs could go back to:
// what they say stays in nf_packets.
func NewTrial() (*Trial, error) {
	spec, err := loadClassifier()
	if err != nil {
		return nil, fmt.Errorf("read the classifier: %w", err)
	}
	capture, err := loadCapture()
	if err != nil {
		return nil, fmt.Errorf("read what captures: %w", err)
	}
	maps.Copy(spec.Maps, capture.Maps)
	t := &Trial{}
	for name, m := range map[string]**ebpf.Map{
		"nf_packets": &t.Shared.Packets, "nf_counts": &t.Shared.Counts, "chains": &t.Shared.Chains,
		"capture_snaps": &t.Shared.Snaps, "capture_rings": &t.Shared.Rings,
	} {
		if *m, err = ebpf.NewMap(spec.Maps[name]); err != nil {
			t.Close()
			return nil, fmt.Errorf("make %s for a trial: %w", name, err)
		}
	}
	return t, nil
}

// Put puts a policy in the place of the one before.
func (t *Trial) Put(policy Policy, states *States) error {
	made, err := Build(policy, t.Shared, 1, states)
	if err != nil {
		return err
	}
	t.Made.Close()
	t.Made, t.Policy = made, policy
	for i, program := range made.XDP.Chains {
		if err := t.Shared.Chains.Put(uint32(i+1), program); err != nil {
			return fmt.Errorf("put program %d of a trial: %w", i+1, err)
		}
	}
	return nil
}

// Close gives up programs and tables.
func (t *Trial) Close() {
	t.Made.Close()
	for _, m := range []*ebpf.Map{t.Shared.Packets, t.Shared.Counts, t.Shared.Chains, t.Shared.Snaps, t.Shared.Rings} {
		_ = m.Close() // nobody else uses it
	}
}

// untouched is the verdict of a CPU that no program ran on.
const untouched = 1<<32 - 1

// Run runs a packet through a program, and returns what became of it.
func (t *Trial) Run(program *ebpf.Program, frame []byte, p Packet) (Packet, error) {
	p.Verdict = untouched
	each := make([]Packet, ebpf.MustPossibleCPU())
	for i := range each {
		each[i] = p
	}
	if err := t.Shared.Packets.Put(uint32(0), each); err != nil {
		return p, fmt.Errorf("describe the packet of a trial: %w", err)
	}
	if _, err := program.Run(&ebpf.RunOptions{Data: frame}); err != nil {
		return p, fmt.Errorf("run a packet through the chains: %w", err)
	}
	if err := t.Shared.Packets.Lookup(uint32(0), &each); err != nil {
		return p, fmt.Errorf("read what the chains said: %w", err)
	}
	for _, p := range each {
		if p.Verdict != untouched {
			return p, nil
		}
	}
	return p, errors.New("run a packet through the chains: none of them said anything")
}
