package datapath

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/mounts"
)

// ErrOtherLayout is CanAdopt's where this build lays out tables otherwise than who made those in the kernel.
var ErrOtherLayout = errors.New("its tables are laid out otherwise: a restart with this version ends its sessions")

// CanAdopt says whether this build can take over what an instance has in the kernel, and changes nothing. It is nil where there is
// nothing, too. Sizes are taken as they are: a configuration that wants others, or another namespace, is not looked at.
func CanAdopt(instance string) error {
	_, _, err := adoptable(instance)
	return err
}

// Prepare has the kernel verify this build's programs over the tables of an instance, and pins them beside those that are at
// work, for the start that follows: that takes the kernel more than a second, in which no names would be answered. Nothing that
// is at work changes. It is nil where there is nothing to take over, or where the programs at work are of this build.
func Prepare(instance string) (err error) {
	d, spec, err := adoptable(instance)
	if err != nil || d == nil || d.layout.Build == buildHash() {
		return err
	}
	d.prepares = true
	if err := spec.Variables["fixed"].Set(&d.layout); err != nil {
		return fmt.Errorf("set the layout: %w", err)
	}
	if err := d.load(spec); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.closeForms()) }()
	if err := d.loadEgress(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.closeEgress(true)) }()
	for mode, f := range d.forms {
		e := &entries{}
		f.entries = e
		for _, group := range []any{&e.sides, &e.bareSides, &e.singleSides, &e.webSides, &e.poolSides, &e.hostSides, &e.edgeSides, &e.segmentSides} {
			if !d.works(group, mode) {
				continue
			}
			if err := d.loadInto(group, mode); err != nil {
				return err
			}
		}
	}
	return nil
}

// works reports whether programs that a struct names are at work in a form. They are loaded together.
func (d *programSet) works(group any, mode Mode) bool {
	for name := range programsIn(reflect.ValueOf(group).Elem()) {
		if _, err := os.Stat(d.pinPath(programPins + string(mode) + name)); err == nil {
			return true
		}
	}
	return false
}

// preparedPins begin the names of all that are not at work yet, and no table's.
const preparedPins = "prepared_"

// nextPins begin the names of programs of this build that are not at work yet.
func nextPins() string { return fmt.Sprintf("%s%016x_", preparedPins, buildHash()) }

// putNext has the programs that Prepare pinned for this build be those that are at work, and removes what was pinned for others.
func (d *programSet) putNext(ours bool) (err error) {
	all, _ := filepath.Glob(d.pinPath(preparedPins + "*")) // the pattern is right
	for _, path := range all {
		if name, mine := strings.CutPrefix(filepath.Base(path), nextPins()); mine && ours {
			err = errors.Join(err, os.Rename(path, d.pinPath(programPins+name)))
		} else {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// pinnedSizes takes the sizes of tables that a configuration says from those that are pinned.
func pinnedSizes(d *core) error {
	o := &d.options
	for name, size := range map[string]*int{
		"reservation_table": &o.Reservations, "bound_port_table": &o.BoundPorts, "address_table": &o.Addresses,
		"service_table": &o.Services, "lent_names": &o.Names, "owner_table": &o.Owners,
		"pact_table": &o.Pacts, "link_table": &o.Links,
	} {
		table, err := ebpf.LoadPinnedMap(d.pinPath(name), nil)
		if errors.Is(err, fs.ErrNotExist) {
			return ErrOtherLayout // it has no such table
		}
		if err != nil {
			return fmt.Errorf("open the pinned %s: %w", name, err)
		}
		*size = int(table.MaxEntries())
		_ = table.Close() // only looked at
	}
	o.Reservations, o.BoundPorts, o.Owners = o.Reservations-1, o.BoundPorts-1, o.Owners/ownerEntries
	o.Pacts, o.Links = o.Pacts-1, o.Links-1
	return nil
}

// adoptable is a data plane like the one that an instance has in the kernel, nil if it has none, and what it would be loaded of.
func adoptable(instance string) (*Datapath, *ebpf.CollectionSpec, error) {
	outer, _ := mounts.Outer()
	root, err := mounts.Path(outer, fileSystem)
	if err != nil || !isBPF(root) {
		return nil, nil, err
	}
	options := Options{Instance: instance, Logger: slog.New(slog.DiscardHandler)}
	d := parts(&core{options: options, directory: instanceDirectory(root, instance), adopted: true, forms: map[Mode]*form{}})
	d.layout, err = d.pinnedLayout()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case errors.Is(err, errOtherSize):
		return nil, nil, ErrOtherLayout
	case err != nil:
		return nil, nil, err
	}
	spec, err := xdpSpec()
	if err != nil {
		return nil, nil, fmt.Errorf("read the compiled programs: %w", err)
	}
	if err := pinnedSizes(d.core); err != nil {
		return nil, nil, err
	}
	if err := applyLayout(spec, &d.layout, &d.options); err != nil {
		return nil, nil, fmt.Errorf("set the sizes of the tables: %w", err)
	}
	if shapeOf(spec) != d.layout.Shape {
		return nil, nil, ErrOtherLayout
	}
	return d, spec, nil
}
