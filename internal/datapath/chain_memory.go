package datapath

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cilium/ebpf"
)

// ChainMemory is what the programs of the chains in force take, with the tables that
// only they use, in bytes, as the kernel accounts for it.
func (d *policyTable) ChainMemory() (uint64, error) {
	var control bpfControl
	if err := d.objects.ControlTable.Lookup(uint32(0), &control); err != nil {
		return 0, fmt.Errorf("read the generation in force: %w", err)
	}
	m := memories{seen: map[ebpf.MapID]bool{}}
	own := slices.Concat(slices.Collect(maps.Values(d.Tables())), []*ebpf.Map{d.forms[TCX].programs, d.forms[TCX].chains})
	for _, table := range own {
		info, err := table.Info()
		if err != nil {
			return 0, fmt.Errorf("ask for the number of %s: %w", table, err)
		}
		if id, ok := info.ID(); ok {
			m.seen[id] = true
		}
	}
	var err error
	for _, f := range d.forms {
		err = errors.Join(err, m.form(f, control.Generation))
	}
	return m.bytes, err
}

func (m *memories) form(f *form, generation uint32) (err error) {
	first, places := chainsOf(generation)
	for _, place := range places {
		err = errors.Join(err, m.program(f.programs, uint32(place)))
	}
	m.end = false // not all generations have all of those
	for number := first; err == nil && number < first+MostChains && !m.end; number++ {
		err = m.program(f.chains, number)
	}
	return err
}

// memories adds up programs and tables, each table once.
type memories struct {
	seen  map[ebpf.MapID]bool
	bytes uint64
	end   bool // there was no program at the last place
}

func (m *memories) program(at *ebpf.Map, place uint32) error {
	var program *ebpf.Program
	err := at.Lookup(place, &program)
	if m.end = errors.Is(err, ebpf.ErrKeyNotExist); m.end {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up program %d of %s: %w", place, at, err)
	}
	defer program.Close()
	info, err := program.Info()
	if err != nil {
		return fmt.Errorf("ask for the size of program %d of %s: %w", place, at, err)
	}
	bytes, _ := info.Memlock()
	m.bytes += bytes
	ids, _ := info.MapIDs()
	for _, id := range ids {
		if m.seen[id] {
			continue
		}
		m.seen[id] = true
		if err := m.table(id); err != nil {
			return err
		}
	}
	return nil
}

func (m *memories) table(id ebpf.MapID) error {
	table, err := ebpf.NewMapFromID(id)
	if err != nil {
		return fmt.Errorf("open table %d of a chain: %w", id, err)
	}
	defer table.Close()
	info, err := table.Info()
	if err != nil {
		return fmt.Errorf("ask for the size of table %d of a chain: %w", id, err)
	}
	bytes, _ := info.Memlock()
	m.bytes += bytes
	return nil
}
