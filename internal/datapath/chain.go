package datapath

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
)

// MostChains is how many chains a generation may have: each of two that follow each other has
// half of the numbers.
const MostChains = chainNumbers/2 - 1

// ChainTables are the tables by which the programs of chains and the gateway work
// together.
// Chains are those of XDP. Trace is of dry runs alone, which have Chains or TCXChains.
type ChainTables struct{ Packets, Counts, Chains, Snaps, Rings, TCXChains, Trace *ebpf.Map }

// ChainPrograms are those of one generation for one hook. A classifier leaves the packet to
// the chain of the number that it finds.
type ChainPrograms struct {
	Classifier *ebpf.Program
	Dnat       *ebpf.Program   // of the chains that say where flows go; nil where there are none
	Protection *ebpf.Program   // of IPv6; nil where the policy has none
	Chains     []*ebpf.Program // numbered from the first number on
}

func (p *ChainPrograms) close() {
	for _, program := range append(p.Chains, p.Classifier, p.Dnat, p.Protection) {
		_ = program.Close() // what is in force keeps it
	}
}

// Chains are the programs of one generation.
type Chains struct {
	XDP, TCX ChainPrograms
	// What judges flows that begin outside, and inside: the number of the only chain
	// that they can have, that of the classifier (bpf/include/tail.h), or 0 for nothing.
	In, Out uint32
	// What judges packets from outside that are for the gateway itself, or for nobody:
	// the number of a program, 0 for none. Honeypot: it has a honeypot.
	Input    uint32
	Honeypot bool
	Bytes    uint64 // of memory, with the tables that only they use
}

// BuildChains makes the chains of a generation, which are numbered from first on.
type BuildChains func(tables ChainTables, first uint32) (Chains, error)

// NextChains are chains that were made for the generation that is to come.
type NextChains struct {
	made       Chains
	generation uint32
}

// MakeChains makes the chains of the next generation for SetPolicy: what takes long
// happens here, and nothing changes. build may be nil, and then no chains come of it.
// The caller closes them, whether they came into force or not.
func (d *policyTable) MakeChains(build BuildChains) (*NextChains, error) {
	if build == nil {
		return nil, nil
	}
	now, err := d.Generation()
	if err != nil {
		return nil, fmt.Errorf("read the generation in force: %w", err)
	}
	first, _ := chainsOf(now + 1)
	o := &d.objects
	made, err := build(ChainTables{
		Packets: o.NfPackets, Counts: o.NfCounts, Chains: o.Chains, Snaps: o.CaptureSnaps, Rings: o.CaptureRings,
		TCXChains: d.forms[TCX].chains,
	}, first)
	if err != nil {
		return nil, err
	}
	return &NextChains{made, now + 1}, nil
}

// Close lets the programs go. What is in force keeps them.
func (c *NextChains) Close() {
	if c == nil {
		return
	}
	c.made.XDP.close()
	c.made.TCX.close()
}

// bytes is what they take of memory; nil takes none.
func (c *NextChains) bytes() uint64 {
	if c == nil {
		return 0
	}
	return c.made.Bytes
}

// ChainMemory is what the chains of the last SetPolicy take, in bytes: their programs, and the tables that only they use.
func (d *policyTable) ChainMemory() uint64 { return d.chainBytes.Load() }

// putChains puts the chains of the next generation beside those in force.
func (d *policyTable) putChains(next uint32, c *NextChains) error {
	if (c.generation^next)&1 != 0 { // bans came between, two generations each, or another policy
		return fmt.Errorf("the chains were made for generation %d, and the next is %d", c.generation, next)
	}
	if n := len(c.made.XDP.Chains); n > MostChains {
		return fmt.Errorf("%d chains: at most %d", n, MostChains)
	}
	if err := d.forms[XDP].putChains(next, &c.made.XDP); err != nil {
		return err
	}
	return d.forms[TCX].putChains(next, &c.made.TCX)
}

func (f *form) putChains(next uint32, made *ChainPrograms) error {
	first, places := chainsOf(next)
	for i, program := range made.Chains {
		if err := f.chains.Put(first+uint32(i), program); err != nil {
			return fmt.Errorf("put chain %d beside those in force: %w", i+1, err)
		}
	}
	for i, program := range []*ebpf.Program{made.Classifier, made.Dnat, made.Protection} {
		if program == nil {
			continue
		}
		if err := f.programs.Put(uint32(places[i]), program); err != nil {
			return fmt.Errorf("put %s beside the one in force: %w", []string{"the classifier", "the classifier of dnat", "the protection of IPv6"}[i], err)
		}
	}
	return nil
}

// chainsOf returns where the chains of a generation are: their first number, and the
// places of the classifier, that of dnat, and the protection of IPv6 among the programs.
func chainsOf(generation uint32) (first uint32, places [3]bpfProgram) {
	if generation&1 == 1 {
		return 1 + chainNumbers/2, [...]bpfProgram{bpfProgramPROGRAM_CLASSIFIER_ODD, bpfProgramPROGRAM_DNAT_ODD, bpfProgramPROGRAM_PROTECTION6ODD}
	}
	return 1, [...]bpfProgram{bpfProgramPROGRAM_CLASSIFIER_EVEN, bpfProgramPROGRAM_DNAT_EVEN, bpfProgramPROGRAM_PROTECTION6EVEN}
}

// dropChains removes the chains of a generation that no packet is judged by any more.
func (d *policyTable) dropChains(generation uint32) error {
	for _, f := range d.forms {
		if err := f.dropChains(generation); err != nil {
			return fmt.Errorf("remove the chains of generation %d: %w", generation, err)
		}
	}
	return nil
}

func (f *form) dropChains(generation uint32) error {
	first, places := chainsOf(generation)
	for _, program := range places {
		// Where it was never put, chains may have been.
		if err := f.programs.Delete(uint32(program)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return err
		}
	}
	for i := range uint32(MostChains) {
		if err := f.chains.Delete(first + i); errors.Is(err, ebpf.ErrKeyNotExist) {
			return nil // they stand in a row
		} else if err != nil {
			return err
		}
	}
	return nil
}

// grace waits until no packet is under way that began before: the kernel does so when
// a map within a map is replaced.
func (d *policyTable) grace() error {
	if err := d.graceful.Put(uint32(0), d.objects.ControlTable); err != nil {
		return fmt.Errorf("wait for the packets under way: %w", err)
	}
	return nil
}

// newGrace makes the map of maps that grace replaces one in.
func (d *policyTable) newGrace() (err error) {
	inner := &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: d.objects.ControlTable.ValueSize(), MaxEntries: 1, Flags: d.objects.ControlTable.Flags()}
	d.graceful, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: 1, InnerMap: inner})
	if err != nil {
		return fmt.Errorf("make the map that waits for packets: %w", err)
	}
	return nil
}

// Count is what a function has done.
type Count struct {
	Seen, Accepted, Dropped, Failed, Samples, Ns uint64

	Lost uint64 // copies for who captures that found no room
}

// Counts returns what each function has done since ClearCount, by number.
func (d *policyTable) Counts() ([]Count, error) {
	var each []bpfNfCounters // of each CPU
	if err := d.objects.NfCounts.Lookup(uint32(0), &each); err != nil {
		return nil, fmt.Errorf("read the counts of functions: %w", err)
	}
	list := make([]Count, MostCounts)
	for i := range each {
		for number, c := range each[i].Of {
			all := &list[number]
			all.Seen += c.Seen
			all.Accepted += c.Accepted
			all.Dropped += c.Dropped
			all.Failed += c.Failed
			all.Samples += c.Samples
			all.Ns += c.Ns
			all.Lost += c.Lost
		}
	}
	return list, nil
}

// ClearCount begins the counts of a function anew.
func (d *policyTable) ClearCount(number uint32) error {
	request := bpfCountRequest{Function: number, Cpus: uint32(ebpf.MustPossibleCPU())}
	if _, err := d.objects.ClearCount.Run(&ebpf.RunOptions{Context: &request}); err != nil {
		return fmt.Errorf("clear the counts of function %d: %w", number, err)
	}
	return nil
}
