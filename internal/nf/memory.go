package nf

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// memory adds up what programs take, and the tables that are theirs alone, each once, as the kernel accounts for it when
// they are made. Later only CAP_SYS_ADMIN finds a program's tables.
type memory struct {
	counted map[*ebpf.Map]bool
	bytes   uint64
}

func (m *memory) program(p *ebpf.Program) error {
	info, err := p.Info()
	if err != nil {
		return fmt.Errorf("ask for the size of %s: %w", p, err)
	}
	bytes, _ := info.Memlock()
	m.bytes += bytes
	return nil
}

func (m *memory) tables(some map[string]*ebpf.Map) error {
	for _, table := range some {
		if m.counted[table] {
			continue
		}
		info, err := table.Info()
		if err != nil {
			return fmt.Errorf("ask for the size of %s: %w", table, err)
		}
		bytes, _ := info.Memlock()
		m.bytes += bytes
		m.counted[table] = true
	}
	return nil
}
