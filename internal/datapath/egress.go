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
	"golang.org/x/sys/unix"
)

//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package datapath -output-stem egress egress ../../bpf/egress.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu

// egress guards the public interfaces: what leaves by them has no private source.
type egress struct {
	objects egressObjects
	guards  map[int]*guard // by the index of the interface
	old     bool           // the kernel has no tcx: before Linux 6.6
}

// guard is the program at one interface: by a link of its own or, in an old kernel, as a filter of clsact.
type guard struct {
	name string
	link link.Link
	made bool // clsact, too
}

// loadEgress loads the program over the tables of the data plane.
func (d *Datapath) loadEgress() error {
	spec, err := loadEgress()
	if err != nil {
		return fmt.Errorf("read the compiled guard of the way out: %w", err)
	}
	m := &d.objects.bpfMaps
	shared := map[string]*ebpf.Map{
		"address_table": m.AddressTable, "budgets": m.Budgets, "control_table": m.ControlTable, "drop_events": m.DropEvents,
		"interface_table": m.InterfaceTable, "own_addresses": m.OwnAddresses, "reason_counters": m.ReasonCounters, "settings_table": m.SettingsTable,
	}
	for name, table := range shared {
		spec.Maps[name].MaxEntries = table.MaxEntries()
	}
	err = spec.LoadAndAssign(&d.egress.objects, &ebpf.CollectionOptions{MapReplacements: shared})
	if err != nil {
		return fmt.Errorf("load the guard of the way out: %w", err)
	}
	d.egress.guards = map[int]*guard{}
	return nil
}

// followEgress has the guard on every public interface that there is, and on no other.
func (d *Datapath) followEgress() error {
	wanted := map[string]int{} // 0: it is not there
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
func (d *Datapath) guardInterface(name string, index int) error {
	g := &guard{name: name}
	err := ebpf.ErrNotSupported
	if !d.egress.old && !d.adoptGuard(g, index) {
		err = d.attachGuard(g, index)
	}
	if g.link == nil && errors.Is(err, ebpf.ErrNotSupported) {
		d.egress.old = true
		err = d.filter(g, index)
	}
	if g.link == nil && err != nil {
		return fmt.Errorf("guard what leaves by %s: %w", name, err)
	}
	d.egress.guards[index] = g
	return nil
}

func (d *Datapath) guardPath(name string) string { return filepath.Join(d.directory, "egress_"+name) }

// adoptGuard takes over the link that an earlier daemon left on the interface.
func (d *Datapath) adoptGuard(g *guard, index int) bool {
	if d.directory == "" {
		return false
	}
	old, err := link.LoadPinnedLink(d.guardPath(g.name), nil)
	if err != nil {
		return false
	}
	info, err := old.Info()
	if err == nil && info.TCX() != nil && int(info.TCX().Ifindex) == index && old.Update(d.egress.objects.GatewayEgress) == nil {
		g.link = old
		return true
	}
	_ = old.Close()
	_ = os.Remove(d.guardPath(g.name))
	return false
}

func (d *Datapath) attachGuard(g *guard, index int) error {
	attached, err := link.AttachTCX(link.TCXOptions{Interface: index, Program: d.egress.objects.GatewayEgress, Attach: ebpf.AttachTCXEgress})
	if err != nil {
		return err
	}
	if d.directory != "" {
		if err := attached.Pin(d.guardPath(g.name)); err != nil {
			return errors.Join(err, attached.Close())
		}
	}
	g.link = attached
	return nil
}

// unguard takes the guard off an interface that is not the gateway's, or not there any more.
func (d *Datapath) unguard(index int) error {
	g := d.egress.guards[index]
	delete(d.egress.guards, index)
	if g.link == nil {
		return d.unfilter(g, index)
	}
	_ = g.link.Unpin()
	return g.link.Close()
}

// discardGuards takes off what an earlier daemon attached to interfaces that are no public ones any more.
func (d *Datapath) discardGuards(wanted map[string]int) error {
	if d.directory == "" {
		return nil
	}
	var errs []error
	pinned, _ := filepath.Glob(d.guardPath("*"))
	for _, path := range pinned {
		if _, public := wanted[strings.TrimPrefix(filepath.Base(path), "egress_")]; !public {
			errs = append(errs, os.Remove(path))
		}
	}
	filters, _ := filepath.Glob(d.filterPath("*"))
	for _, path := range filters {
		name := strings.TrimPrefix(filepath.Base(path), "clsact_")
		if _, public := wanted[name]; public {
			continue
		}
		_ = os.Remove(path)
		if iface, err := netlink.LinkByName(name); err == nil {
			errs = append(errs, d.unfilter(&guard{name: name, made: true}, iface.Attrs().Index))
		}
	}
	return errors.Join(errs...)
}

// closeEgress gives the guards up; keep leaves them at work.
func (d *Datapath) closeEgress(keep bool) error {
	var errs []error
	for index, g := range d.egress.guards {
		switch {
		case !keep:
			errs = append(errs, d.unguard(index))
		case g.link != nil:
			errs = append(errs, g.link.Close())
		}
	}
	d.egress.guards = nil
	return errors.Join(append(errs, d.egress.objects.Close())...)
}

// filterHandle and filterPriority name our filter: last, so that it sees what leaves.
const (
	filterHandle   = 0x7267
	filterPriority = 0x7267
)

func clsact(index int) *netlink.GenericQdisc {
	return &netlink.GenericQdisc{QdiscType: "clsact", QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT,
	}}
}

func (d *Datapath) filterOf(index int) *netlink.BpfFilter {
	return &netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: index, Parent: netlink.HANDLE_MIN_EGRESS, Handle: filterHandle, Priority: filterPriority, Protocol: unix.ETH_P_ALL,
		},
		Fd: d.egress.objects.GatewayEgress.FD(), Name: "gateway_egress", DirectAction: true,
	}
}

// filterPath is where a clsact of our own making is noted: the kernel does not say whose it is.
func (d *Datapath) filterPath(name string) string { return filepath.Join(d.directory, "clsact_"+name) }

// filter attaches the guard as kernels without tcx have it, in the place of an earlier daemon's.
func (d *Datapath) filter(g *guard, index int) error {
	err := netlink.QdiscAdd(clsact(index))
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add clsact: %w", err)
	}
	g.made = err == nil
	if d.directory != "" {
		if g.made {
			_ = os.Remove(d.filterPath(g.name)) // of an interface that is gone
			err = d.egress.objects.GatewayEgress.Pin(d.filterPath(g.name))
		} else if _, missing := os.Stat(d.filterPath(g.name)); missing == nil {
			g.made, err = true, nil
		}
		if g.made && err != nil {
			return fmt.Errorf("note that clsact is ours: %w", err)
		}
	}
	if err := netlink.FilterReplace(d.filterOf(index)); err != nil {
		return fmt.Errorf("add the filter: %w", err)
	}
	return nil
}

// unfilter removes the filter, and clsact where we made it and nobody else uses it.
func (d *Datapath) unfilter(g *guard, index int) error {
	if d.directory != "" {
		_ = os.Remove(d.filterPath(g.name))
	}
	iface, err := netlink.LinkByIndex(index)
	if err != nil {
		return nil //nolint:nilerr // gone with all that was on it
	}
	if err := netlink.FilterDel(d.filterOf(index)); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("remove the guard of %s: %w", g.name, err)
	}
	if !g.made {
		return nil
	}
	for _, parent := range []uint32{netlink.HANDLE_MIN_INGRESS, netlink.HANDLE_MIN_EGRESS} {
		if others, err := netlink.FilterList(iface, parent); err != nil || len(others) > 0 {
			return err
		}
	}
	return netlink.QdiscDel(clsact(index))
}
