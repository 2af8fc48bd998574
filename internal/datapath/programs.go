package datapath

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/cilium/ebpf"
)

// programPins begin the names under which programs are pinned: the next daemon of the same build takes them over, and
// the kernel need not verify them again, which takes it more than a second.
const programPins = "program_"

func (d *programSet) programPin(name string) string {
	if d.prepares {
		return d.pinPath(nextPins() + name)
	}
	return d.pinPath(programPins + name)
}

// buildHash is a hash over the compiled programs.
var buildHash = sync.OnceValue(func() uint64 {
	hash := fnv.New64a()
	for _, o := range [][]byte{_BpfBytes, _TcxBytes, _EgressBytes} {
		_, _ = hash.Write(o)
	}
	return hash.Sum64()
})

// keepPrograms has the pinned programs of an adopted data plane stay if they are of the build, else those take their place that
// were prepared for it.
// The layout says so before there are others.
func (d *programSet) keepPrograms(build uint64) error {
	if d.layout.Build == build {
		return d.putNext(false)
	}
	pinned, err := filepath.Glob(d.pinPath(programPins + "*"))
	for _, path := range pinned {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("remove the programs of another build: %w", err)
	}
	table, err := ebpf.LoadPinnedMap(d.pinPath(layoutPin), nil)
	if err != nil {
		return fmt.Errorf("open the pinned layout: %w", err)
	}
	defer table.Close()
	d.layout.Build = build
	if err := table.Put(uint32(0), &d.layout); err != nil {
		return fmt.Errorf("write the layout: %w", err)
	}
	if err := d.putNext(true); err != nil {
		return fmt.Errorf("put the programs that were prepared in their place: %w", err)
	}
	return nil
}

// assign loads the programs that a struct names, or takes over those that are pinned, all of them. kind tells those of
// one name apart.
func (d *programSet) assign(into any, spec *ebpf.CollectionSpec, options ebpf.CollectionOptions, kind string) error {
	if d.tookOver(into, kind) {
		return nil
	}
	if err := spec.LoadAndAssign(into, &options); err != nil {
		return d.notLoaded(err)
	}
	if d.directory == "" {
		return nil
	}
	for name, field := range programsIn(reflect.ValueOf(into).Elem()) {
		path := d.programPin(kind + name)
		_ = os.Remove(path)
		if err := (*field).Pin(path); err != nil {
			d.options.Logger.Warn("program not pinned", "hint", "the next start verifies it again", "program", name, "error", err)
		}
	}
	return nil
}

// tookOver reports whether the programs that a struct names are those that an earlier daemon has pinned.
func (d *programSet) tookOver(into any, kind string) bool {
	if !d.adopted {
		return false
	}
	fields := programsIn(reflect.ValueOf(into).Elem())
	for name, field := range fields {
		var err error
		if *field, err = ebpf.LoadPinnedProgram(d.programPin(kind+name), nil); err != nil {
			for _, taken := range fields {
				_ = (*taken).Close()
				*taken = nil
			}
			return false
		}
	}
	return true
}

// closePrograms lets go the programs that a struct names, as far as they were loaded.
func closePrograms(of any) error {
	var errs []error
	for _, field := range programsIn(reflect.ValueOf(of).Elem()) {
		errs = append(errs, (*field).Close())
	}
	return errors.Join(errs...)
}

// programsIn are the fields of programs in a struct, and in those that it embeds, by the programs' names.
func programsIn(v reflect.Value) map[string]**ebpf.Program {
	all := map[string]**ebpf.Program{}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous {
			for name, program := range programsIn(v.Field(i)) {
				all[name] = program
			}
			continue
		}
		if name := field.Tag.Get("ebpf"); name != "" {
			all[name] = v.Field(i).Addr().Interface().(**ebpf.Program) //nolint:forcetypeassert // nothing else has the tag
		}
	}
	return all
}
