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

	"github.com/realmgate/realmgate/internal/netdev"
)

// Outside is an interface that a data plane at work takes for one of its public ones, until Close or the end of this process.
type Outside struct {
	entry *ebpf.Program
	link  link.Link
	table *ebpf.Map // interface_table
	index uint32
}

// AttachOutside has what comes in by a veth go through the public program of an instance, whoever runs. The far side is to write
// whole checksums. It must run in the gateway's network namespace.
func AttachOutside(instance, name string) (*Outside, error) {
	files, err := pinsOf(instance)
	if err != nil {
		return nil, err
	}
	iface, err := netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("find interface %s: %w", name, err)
	}
	o := &Outside{index: uint32(iface.Attrs().Index)}
	directory := filepath.Dir(strings.Join(files[:min(len(files), 1)], ""))
	if o.table, err = ebpf.LoadPinnedMap(filepath.Join(directory, "interface_table"), nil); err != nil {
		return nil, fmt.Errorf("open the interfaces of instance %s: %w", instance, err)
	}
	features, known, err := netdev.XDPFeatures(iface.Attrs().Index)
	if err == nil {
		entry := bpfInterface{Side: uint8(bpfSideSIDE_PUBLIC), Redirect: uint8(redirects(iface.Type(), false, true, features, known))}
		copy(entry.Mac[:], iface.Attrs().HardwareAddr)
		err = errors.Join(forgetGone(o.table), o.table.Put(o.index, &entry))
	}
	if err == nil {
		err = o.attach(directory)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("have the data plane take %s for a public interface: %w", name, err), o.Close())
	}
	return o, nil
}

// attach takes the program of the form that is loaded, of either where both are that which needs no driver.
func (o *Outside) attach(directory string) (err error) {
	pin := func(mode Mode) string { return filepath.Join(directory, programPins+string(mode)+"gateway_public") }
	if o.entry, err = ebpf.LoadPinnedProgram(pin(TCX), nil); err == nil && !isOld() {
		o.link, err = link.AttachTCX(link.TCXOptions{Interface: int(o.index), Program: o.entry, Attach: ebpf.AttachTCXIngress})
		return err
	}
	if err == nil {
		_ = o.entry.Close()
	}
	if o.entry, err = ebpf.LoadPinnedProgram(pin(XDP), nil); errors.Is(err, os.ErrNotExist) {
		return errors.New("this kernel cannot lend its program: it takes Linux 6.6")
	} else if err != nil {
		return err
	}
	o.link, err = link.AttachXDP(link.XDPOptions{Interface: int(o.index), Program: o.entry, Flags: link.XDPGenericMode})
	return err
}

// forgetGone takes interfaces that are gone out of interface_table, as one that was killed has left its own: their numbers come back.
func forgetGone(table *ebpf.Map) error {
	var index uint32
	var entry bpfInterface
	var gone []uint32
	for entries := table.Iterate(); entries.Next(&index, &entry); {
		if _, err := netlink.LinkByIndex(int(index)); errors.As(err, &netlink.LinkNotFoundError{}) {
			gone = append(gone, index)
		}
	}
	var errs []error
	for _, index := range gone {
		if err := table.Delete(index); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) { // somebody else was faster
			errs = append(errs, fmt.Errorf("forget interface %d, which is gone: %w", index, err))
		}
	}
	return errors.Join(errs...)
}

// Close ends it, and leaves nothing.
func (o *Outside) Close() error {
	var errs []error
	if o.link != nil {
		errs = append(errs, o.link.Close())
	}
	if err := o.table.Delete(o.index); !errors.Is(err, ebpf.ErrKeyNotExist) {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, o.entry.Close(), o.table.Close())...)
}
