package planes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/realmgate/realmgate/internal/netdev"
)

const (
	layoutPin   = "layout_table"
	programPins = "program_"
)

// plane is a data plane that nobody has pinned: its tables and programs are held by this process.
type plane struct {
	key       string
	tables    map[string]*table        // by the names of their pins; nil where there are none yet
	programs  map[string]*ebpf.Program // so, too
	namespace uint32                   // where the layout says it, in octets
}

// remember notes what the tables of a new plane have.
func (p *plane) remember(directory string) error {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	p.tables, p.programs = map[string]*table{}, map[string]*ebpf.Program{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), programPins) {
			continue
		}
		m, err := ebpf.LoadPinnedMap(filepath.Join(directory, e.Name()), nil)
		if err != nil {
			return err
		}
		if p.tables[e.Name()], err = newTable(m); err != nil {
			return fmt.Errorf("read table %s: %w", e.Name(), err)
		}
	}
	p.namespace, err = Member(p.tables[layoutPin].Map, "layout", "namespace")
	return err
}

// Member is where, in octets, a struct in a table has a member.
func Member(m *ebpf.Map, name, member string) (uint32, error) {
	handle, err := m.Handle()
	if err != nil {
		return 0, err
	}
	defer handle.Close()
	spec, err := handle.Spec(nil)
	if err != nil {
		return 0, err
	}
	var s *btf.Struct
	if err := spec.TypeByName(name, &s); err != nil {
		return 0, err
	}
	for _, each := range s.Members {
		if each.Name == member {
			return each.Offset.Bytes(), nil
		}
	}
	return 0, fmt.Errorf("struct %s has no %s", name, member)
}

// place pins it in a directory for a data plane to adopt in this network namespace, with tables as new.
func (p *plane) place(directory string) error {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	for name, each := range p.tables {
		if err := each.renew(); err != nil {
			return fmt.Errorf("clear table %s: %w", name, err)
		}
		if err := each.Pin(filepath.Join(directory, name)); err != nil {
			return fmt.Errorf("pin table %s: %w", name, err)
		}
	}
	for name, each := range p.programs {
		if err := each.Pin(filepath.Join(directory, name)); err != nil {
			return fmt.Errorf("pin program %s: %w", name, err)
		}
	}
	return p.rehome()
}

// rehome has the layout say that the plane belongs to this network namespace.
func (p *plane) rehome() error {
	namespace, err := netdev.Namespace()
	if err != nil {
		return err
	}
	raw, err := p.tables[layoutPin].LookupBytes(uint32(0))
	if err != nil {
		return err
	}
	binary.NativeEndian.PutUint64(raw[p.namespace:], namespace)
	return p.tables[layoutPin].Put(uint32(0), raw)
}

// takeBack holds the programs that the test has had loaded, too. Where the test has removed the pins, or has had another data
// plane made in the place of this, it is what it was before the test.
func (p *plane) takeBack(directory string) error {
	if p.tables == nil {
		return errors.New("its tables were not remembered")
	}
	pinned, err := ebpf.LoadPinnedMap(filepath.Join(directory, layoutPin), nil)
	if err == nil {
		defer pinned.Close()
	}
	if err != nil || identity(pinned) != identity(p.tables[layoutPin].Map) {
		if len(p.programs) == 0 {
			return errors.New("its programs are gone")
		}
		return nil
	}
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	kept := p.programs
	p.programs = map[string]*ebpf.Program{}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), programPins) {
			continue
		}
		program, err := ebpf.LoadPinnedProgram(filepath.Join(directory, e.Name()), nil)
		if err != nil {
			return err
		}
		p.programs[e.Name()] = program
	}
	for _, each := range kept {
		_ = each.Close()
	}
	return nil
}

func identity(m *ebpf.Map) ebpf.MapID {
	info, err := m.Info()
	if err != nil {
		return 0
	}
	id, _ := info.ID()
	return id
}

func (p *plane) discard() {
	for _, each := range p.tables {
		_ = each.close()
	}
	for _, each := range p.programs {
		_ = each.Close()
	}
}
