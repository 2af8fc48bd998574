package datapath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// filter is a program as kernels without tcx have it: a filter of clsact. It outlives the daemon
// by itself; what is pinned tells the next one of it.
type filter struct {
	data  *filterSet
	at    place
	name  string // of the interface, as it was attached to
	index int
}

// filterHandle names our filters. The one for what comes in is the first, the one for what leaves the last.
const (
	filterHandle = 0x7267
	filterFirst  = 1
	filterLast   = 0x7267
	filterPrefix = "filter_" // of pins
	clsactPrefix = "clsact_"
)

func clsact(index int) *netlink.GenericQdisc {
	return &netlink.GenericQdisc{QdiscType: "clsact", QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT,
	}}
}

func (f *filter) spec(program *ebpf.Program) *netlink.BpfFilter {
	spec := &netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{LinkIndex: f.index, Parent: f.at.parent, Handle: filterHandle, Priority: filterLast, Protocol: unix.ETH_P_ALL},
		Name:        "realmgate", DirectAction: true,
	}
	if f.at.first {
		spec.Priority = filterFirst
	}
	if program != nil {
		spec.Fd = program.FD()
	}
	return spec
}

// filter attaches a program by one, in the place of an earlier daemon's.
func (d *filterSet) filter(at place, name string, ifindex int, program *ebpf.Program) (hold, error) {
	f := &filter{d, at, name, ifindex}
	err := netlink.QdiscAdd(clsact(ifindex))
	if err == nil {
		err = d.markClsact(ifindex)
	}
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("add clsact: %w", err)
	}
	if err := netlink.FilterReplace(f.spec(program)); err != nil {
		return nil, fmt.Errorf("add a filter to clsact: %w", err)
	}
	if err := notePinned(program, f.pin()); err != nil {
		return nil, errors.Join(fmt.Errorf("note the filter: %w", err), f.remove())
	}
	return f, nil
}

// notePinned pins a program at a path, if there is one, whatever is there and wherever else it is pinned.
func notePinned(program *ebpf.Program, path string) error {
	if path == "" {
		return nil
	}
	_ = os.Remove(path)
	another, err := program.Clone() // a program itself would move from pin to pin
	if err != nil {
		return err
	}
	return errors.Join(another.Pin(path), another.Close())
}

// pin is where the program is pinned: with the interface's number, as its name may change.
func (f *filter) pin() string {
	return f.data.pinPath(fmt.Sprintf("%s%s%d_%s", filterPrefix, f.at.pins, f.index, f.name))
}

func (f *filter) ifindex() int {
	if _, err := netlink.LinkByIndex(f.index); err != nil {
		return 0
	}
	return f.index
}

// isNamed reports whether the interface still has its name.
func (f *filter) isNamed() bool {
	iface, err := netlink.LinkByIndex(f.index)
	return err == nil && iface.Attrs().Name == f.name
}

func (f *filter) keep() error { return nil }

// remove takes the filter off, and clsact where we made it and nobody else uses it.
func (f *filter) remove() error {
	if path := f.pin(); path != "" {
		_ = os.Remove(path)
	}
	iface, err := netlink.LinkByIndex(f.index)
	if err != nil {
		return nil //nolint:nilerr // gone with all that was on it
	}
	if err := netlink.FilterDel(f.spec(nil)); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("remove the filter of %s: %w", f.name, err)
	}
	if !f.data.madeClsact(f.index) {
		return nil
	}
	for _, parent := range []uint32{netlink.HANDLE_MIN_INGRESS, netlink.HANDLE_MIN_EGRESS} {
		if others, err := netlink.FilterList(iface, parent); err != nil || len(others) > 0 {
			return err
		}
	}
	f.data.unmarkClsact(f.index)
	return netlink.QdiscDel(clsact(f.index))
}

func (d *filterSet) clsactPin(index int) string { return d.pinPath(fmt.Sprint(clsactPrefix, index)) }

// markClsact notes that an interface's clsact is of our making: the kernel does not say whose it is.
func (d *filterSet) markClsact(index int) error {
	d.clsact[index] = true
	if err := notePinned(d.egress.programs.GatewayEgress, d.clsactPin(index)); err != nil {
		return fmt.Errorf("note that it is ours: %w", err)
	}
	return nil
}

func (d *filterSet) madeClsact(index int) bool {
	if path := d.clsactPin(index); path != "" {
		_, err := os.Stat(path)
		return err == nil
	}
	return d.clsact[index]
}

func (d *filterSet) unmarkClsact(index int) {
	delete(d.clsact, index)
	if path := d.clsactPin(index); path != "" {
		_ = os.Remove(path)
	}
}

// leftFilters are those of a place that are pinned, and still there.
func (d *filterSet) leftFilters(at place) (list []*filter) {
	if d.directory == "" {
		return nil
	}
	paths, _ := filepath.Glob(d.pinPath(filterPrefix + at.pins + "*"))
	for _, path := range paths {
		number, name, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), filterPrefix+at.pins), "_")
		index, _ := strconv.Atoi(number)
		f := &filter{d, at, name, index}
		if f.isPinned(path) {
			list = append(list, f)
		} else {
			_ = os.Remove(path)
		}
	}
	return list
}

// isPinned reports whether the filter that is there has the program that is pinned: interfaces' numbers
// come back, also in other network namespaces.
func (f *filter) isPinned(path string) bool {
	program, err := ebpf.LoadPinnedProgram(path, nil)
	if err != nil {
		return false
	}
	defer program.Close()
	info, err := program.Info()
	if err != nil {
		return false
	}
	id, _ := info.ID()
	iface, err := netlink.LinkByIndex(f.index)
	if err != nil {
		return false
	}
	there, err := netlink.FilterList(iface, f.at.parent)
	return err == nil && slices.ContainsFunc(there, func(t netlink.Filter) bool {
		b, ok := t.(*netlink.BpfFilter)
		return ok && b.Handle == filterHandle && b.Id == int(id)
	})
}
