package multipath

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/nf"
)

// MostBackends is how many backends a function "multipath" may have.
const MostBackends = int(multipathMultipathLimitMULTIPATH_BACKENDS)

// Paths are the backends of a function "multipath" and the table by which programs find
// them. All generations that have it, and trials, see one table. Safe for concurrent use.
type Paths struct {
	backends []Backend

	mutex sync.Mutex
	up    []bool
	seed  uint64
	table *ebpf.Map // of the table in force, nil until a program wants it
}

// NewPaths returns paths to backends, 1 to MostBackends, of which all are up.
func NewPaths(backends []Backend) *Paths {
	p := &Paths{backends: backends, up: make([]bool, len(backends))}
	for i := range p.up {
		p.up[i] = true
	}
	return p
}

// Set says whether a backend, by its place, is up. New flows go by that from the next
// packet on; those that are open stay. After an error they go by it from the next Set on
// that succeeds.
func (p *Paths) Set(place int, up bool) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.up[place] = up
	if p.table == nil {
		return nil
	}
	return p.fill()
}

// Close gives the table up; programs that use it keep it.
func (p *Paths) Close() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	_ = p.table.Close() // it is only given up
	p.table = nil
}

// open returns the table, made by spec when nobody has asked for it before.
func (p *Paths) open(spec *ebpf.MapSpec, seed uint64) (*ebpf.Map, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.table != nil {
		return p.table, nil
	}
	var err error
	if p.table, err = ebpf.NewMap(spec); err != nil {
		return nil, err
	}
	p.seed = seed
	if err := p.fill(); err != nil {
		err = errors.Join(err, p.table.Close())
		p.table = nil
		return nil, err
	}
	return p.table, nil
}

// fill puts a new table of all slots into the place of the one before, at once.
func (p *Paths) fill() error {
	spec, err := loadMultipath()
	if err != nil {
		return fmt.Errorf("read multipath: %w", err)
	}
	inner, err := nf.ArrayOf(spec.Maps[multipathMapMultipathTables].InnerMap, []multipathMultipathTable{tableOf(p.backends, p.up, p.seed)})
	if err != nil {
		return fmt.Errorf("make a table of backends: %w", err)
	}
	defer func() { _ = inner.Close() }() // the outer table keeps it
	if err := p.table.Put(uint32(0), inner); err != nil {
		return fmt.Errorf("put a table of backends into force: %w", err)
	}
	return nil
}
