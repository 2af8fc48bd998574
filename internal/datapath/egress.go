package datapath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
)

//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package datapath -output-stem egress egress ../../bpf/egress.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu

// egress guards the public interfaces: what leaves by them has no private source.
type egress struct {
	programs egressPrograms
	guards   map[int]*guard // by the index of the interface
}

// leaves is the program at the way out: of a single machine with chains, the one that sees its flows.
func (d *guardSet) leaves() (*ebpf.Program, error) {
	if !d.options.SingleFlows {
		return d.egress.programs.GatewayEgress, nil
	}
	e, err := d.loaded(TCX)
	if err != nil {
		return nil, err
	}
	return e.Leave, nil
}

// guard is the program at one interface.
type guard struct {
	name string
	hold
}

// leaving is where the guard is: last, so that it sees what leaves.
var leaving = place{attach: ebpf.AttachTCXEgress, parent: netlink.HANDLE_MIN_EGRESS, pins: "egress_"}

// loadEgress loads the program over the tables of the data plane.
func (d *guardSet) loadEgress() error {
	spec, err := egressSpec()
	if err != nil {
		return fmt.Errorf("read the compiled guard of the way out: %w", err)
	}
	m := &d.objects.bpfMaps
	shared := map[string]*ebpf.Map{
		"address_table": m.AddressTable, "budgets": m.Budgets, "control_table": m.ControlTable, "flow_events": m.FlowEvents,
		"interface_table": m.InterfaceTable, "own_addresses": m.OwnAddresses, "reason_counters": m.ReasonCounters, "settings_table": m.SettingsTable,
	}
	for name, table := range shared {
		spec.Maps[name].MaxEntries = table.MaxEntries()
	}
	if err := d.assign(&d.egress.programs, spec, ebpf.CollectionOptions{MapReplacements: shared}, ""); err != nil {
		return fmt.Errorf("load the guard of the way out: %w", err)
	}
	d.egress.guards = map[int]*guard{}
	return nil
}

// followEgress has the guard on every public interface that there is, and on no other.
func (d *guardSet) followEgress() error {
	wanted := map[string]int{} // 0: it is not there
	if d.options.Single && !d.options.SingleFlows {
		return d.discardGuards(wanted) // it may have private addresses itself
	}
	for _, p := range d.ports {
		if p.side != bpfSideSIDE_PUBLIC {
			continue
		}
		wanted[p.name] = 0
		if iface, err := netlink.LinkByName(p.name); err == nil {
			wanted[p.name] = iface.Attrs().Index
		}
	}
	errs := []error{d.discardGuards(wanted)}
	for index, g := range d.egress.guards {
		// One that has only another name keeps its guard until there is another of the old name.
		if _, err := netlink.LinkByIndex(index); err != nil || wanted[g.name] != index && wanted[g.name] != 0 {
			errs = append(errs, d.unguard(index))
		}
	}
	for name, index := range wanted {
		if index != 0 && d.egress.guards[index] == nil {
			errs = append(errs, d.guardInterface(name, index))
		}
	}
	return errors.Join(errs...)
}

// guardInterface attaches the guard, in the place of an earlier daemon's if there is one.
func (d *guardSet) guardInterface(name string, index int) error {
	program, err := d.leaves()
	if err != nil {
		return err
	}
	hold := d.adoptGuard(name, index, program)
	if hold == nil {
		if hold, err = d.attachBuffers(leaving, name, index, program); err != nil {
			return fmt.Errorf("guard what leaves by %s: %w", name, err)
		}
	}
	d.egress.guards[index] = &guard{name, hold}
	return nil
}

// adoptGuard takes over the link that an earlier daemon left on the interface.
func (d *guardSet) adoptGuard(name string, index int, program *ebpf.Program) hold {
	if d.directory == "" {
		return nil
	}
	adopted, _ := adoptHold(d.pinPath(leaving.pins+name), func(old link.Link) error {
		info, err := old.Info()
		if err == nil && (info.TCX() == nil || int(info.TCX().Ifindex) != index) {
			err = errors.New("it is of another interface")
		}
		if err != nil {
			return err
		}
		return old.Update(program)
	})
	return adopted
}

// unguard takes the guard off an interface that is not the gateway's, or not there any more.
func (d *guardSet) unguard(index int) error {
	g := d.egress.guards[index]
	delete(d.egress.guards, index)
	return g.remove()
}

// discardGuards takes off what an earlier daemon attached to interfaces that are no public ones any more.
func (d *guardSet) discardGuards(wanted map[string]int) error {
	if d.directory == "" {
		return nil
	}
	var errs []error
	pinned, _ := filepath.Glob(d.pinPath(leaving.pins + "*"))
	for _, path := range pinned {
		if _, public := wanted[strings.TrimPrefix(filepath.Base(path), leaving.pins)]; !public {
			errs = append(errs, os.Remove(path))
		}
	}
	for _, f := range d.leftFilters(leaving) {
		if _, public := wanted[f.name]; !public || !f.isNamed() {
			errs = append(errs, f.remove())
		}
	}
	return errors.Join(errs...)
}

// closeEgress gives the guards up; keep leaves them at work.
func (d *guardSet) closeEgress(keep bool) error {
	var errs []error
	for index, g := range d.egress.guards {
		if keep {
			errs = append(errs, g.keep())
		} else {
			errs = append(errs, d.unguard(index))
		}
	}
	d.egress.guards = nil
	return errors.Join(append(errs, d.egress.programs.Close())...)
}
