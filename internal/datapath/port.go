package datapath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/netdev"
)

// Mode is how a program is attached to an interface.
type Mode string

// The two modes of XDP, and none.
const (
	Native  Mode = "native"  // in the driver
	Generic Mode = "generic" // after the kernel has made a socket buffer: slower, works everywhere
	Absent  Mode = "absent"  // the interface has vanished; it is attached to when it is back
)

// port is an interface of the gateway.
type port struct {
	name    string
	side    bpfSide
	ifindex int
	mode    Mode
	why     string // the mode is generic
	tried   bool   // native mode, as the interface is now
	mtu     int
	takes   bool // frames may be redirected to it
	link    link.Link
	written bpfInterface // what stands in interface_table
}

// Interface describes an interface of the gateway.
type Interface struct {
	Name    string `json:"name"`
	Side    string `json:"side"`
	Ifindex int    `json:"ifindex"`
	Mode    Mode   `json:"mode"`
	Why     string `json:"why"` // the mode is generic
	// Redirect tells whether frames reach it by redirect; otherwise they go
	// through the kernel's stack.
	Redirect bool `json:"redirect"`
}

// Interfaces lists the attached interfaces.
func (d *Datapath) Interfaces() []Interface {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	list := make([]Interface, 0, len(d.ports))
	for _, p := range d.ports {
		list = append(list, Interface{Name: p.name, Side: sideName(p.side), Ifindex: p.ifindex, Mode: p.mode, Why: p.why,
			Redirect: p.written.Redirect != 0})
	}
	return list
}

func sideName(side bpfSide) string {
	if side == bpfSideSIDE_PUBLIC {
		return "public"
	}
	return "private"
}

// Attach attaches the programs to the interfaces of the options. Where an
// earlier daemon left a program attached it is replaced in place, without a
// gap. Settings, addresses and services should be set before.
func (d *Datapath) Attach() error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, name := range d.options.Public {
		d.ports = append(d.ports, &port{name: name, side: bpfSideSIDE_PUBLIC})
	}
	for _, name := range d.options.Private {
		d.ports = append(d.ports, &port{name: name, side: bpfSideSIDE_PRIVATE})
	}
	d.discardLinks()
	if err := d.followEgress(); err != nil { // before anything is forwarded
		return err
	}
	for _, p := range d.ports {
		if err := d.attach(p); err != nil {
			return err // Close puts back what was done, or keeps what was adopted
		}
	}
	return d.refresh()
}

func (d *Datapath) program(side bpfSide) *ebpf.Program {
	if side == bpfSideSIDE_PUBLIC {
		return d.objects.GatewayPublic
	}
	return d.objects.GatewayPrivate
}

func (d *Datapath) linkPath(p *port) string {
	return filepath.Join(d.directory, "link_"+p.name)
}

// attach attaches the side's program in native mode where that works, else in
// generic mode, and prepares the interface's settings.
func (d *Datapath) attach(p *port) error {
	iface, err := netlink.LinkByName(p.name)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", p.name, err)
	}
	p.ifindex, p.mtu = iface.Attrs().Index, iface.Attrs().MTU
	features, known, err := netdev.XDPFeatures(p.ifindex)
	if err != nil {
		return err
	}
	takes := features.TakesRedirects()
	if !known {
		takes = iface.Type() != "veth" // before 6.3 the kernel cannot say; veth may lose frames in silence
	}
	p.takes, p.why = takes, whyGeneric(features, known)
	if d.adoptLink(p) {
		if err := d.prepareHost(p.name, p.ifindex); err != nil {
			return err
		}
		return d.followMode(p)
	}
	modes := []Mode{Native, Generic}
	if !takes {
		modes = []Mode{Generic}
	}
	if err := d.attachFirst(p, modes); err != nil {
		return err
	}
	return d.prepareHost(p.name, p.ifindex)
}

// attachFirst attaches in the first of the modes that works, and pins the link.
func (d *Datapath) attachFirst(p *port, modes []Mode) error {
	var err error
	for _, mode := range modes {
		p.tried = p.tried || mode == Native
		if err = d.attachMode(p, mode); err == nil {
			break
		}
		p.why = fmt.Sprintf("%s mode failed: %v", mode, err)
	}
	if err != nil {
		return fmt.Errorf("attach to %s (is another XDP program there?): %w", p.name, err)
	}
	if d.directory == "" {
		return nil
	}
	if err := p.link.Pin(d.linkPath(p)); err != nil {
		return fmt.Errorf("pin the program of %s: %w", p.name, err)
	}
	return nil
}

func (d *Datapath) attachMode(p *port, mode Mode) error {
	flags := link.XDPDriverMode
	if mode == Generic {
		flags = link.XDPGenericMode
	}
	attached, err := link.AttachXDP(link.XDPOptions{Program: d.program(p.side), Interface: p.ifindex, Flags: flags})
	if err != nil {
		return err
	}
	p.link, p.mode = attached, mode
	if mode == Native {
		p.why = ""
	}
	return nil
}

// adoptLink takes over the link that an earlier daemon left on the interface,
// and puts our program in its place.
func (d *Datapath) adoptLink(p *port) bool {
	if d.directory == "" {
		return false
	}
	old, err := link.LoadPinnedLink(d.linkPath(p), nil)
	if err != nil {
		return false
	}
	info, err := old.Info()
	if err == nil && info.XDP() != nil && int(info.XDP().Ifindex) == p.ifindex && p.modeOf() != "" {
		if err = old.Update(d.program(p.side)); err == nil {
			p.link, p.mode = old, p.modeOf()
			if p.mode == Native {
				p.why = ""
			} else if p.takes { // to try native mode would stop its packets for a moment
				p.tried, p.why = true, "an earlier daemon attached it so"
			}
			return true
		}
	}
	d.options.Logger.Warn("attaching anew", "interface", p.name, "why", err)
	_ = old.Close()
	_ = os.Remove(d.linkPath(p))
	return false
}

// modeOf asks the kernel how the interface's program is attached.
func (p *port) modeOf() Mode {
	iface, err := netlink.LinkByIndex(p.ifindex)
	if err != nil || iface.Attrs().Xdp == nil || !iface.Attrs().Xdp.Attached {
		return ""
	}
	if iface.Attrs().Xdp.AttachMode == xdpAttachedGeneric {
		return Generic
	}
	return Native
}

// xdpAttachedGeneric is XDP_ATTACHED_SKB of linux/if_link.h.
const xdpAttachedGeneric = 2

// discardLinks detaches what an earlier daemon attached to interfaces that are
// not the gateway's any more.
func (d *Datapath) discardLinks() {
	if d.directory == "" {
		return
	}
	wanted := map[string]bool{}
	for _, p := range d.ports {
		wanted[d.linkPath(p)] = true
	}
	pinned, _ := filepath.Glob(filepath.Join(d.directory, "link_*"))
	for _, path := range pinned {
		if wanted[path] {
			continue
		}
		if old, err := link.LoadPinnedLink(path, nil); err == nil {
			if info, err := old.Info(); err == nil && info.XDP() != nil {
				_ = restoreInterface(d.objects.HostTable, info.XDP().Ifindex)
			}
			_ = old.Close()
		}
		_ = os.Remove(path)
	}
}

// restoreDiscarded puts back the settings of the interfaces to which a data plane
// that cannot be adopted is attached. What it changed in another network
// namespace is out of reach.
func (d *Datapath) restoreDiscarded() error {
	table, err := ebpf.LoadPinnedMap(filepath.Join(d.directory, "host_table"), nil)
	if err != nil {
		return nil //nolint:nilerr // nothing is remembered
	}
	defer table.Close()
	pinned, _ := filepath.Glob(filepath.Join(d.directory, "link_*"))
	var errs []error
	for _, path := range pinned {
		old, err := link.LoadPinnedLink(path, nil)
		if err != nil {
			continue
		}
		info, err := old.Info()
		_ = old.Close()
		if err != nil || info.XDP() == nil {
			continue
		}
		// The number of an interface says little: its program tells whether it is the one.
		iface, err := netlink.LinkByIndex(int(info.XDP().Ifindex))
		if err == nil && iface.Attrs().Xdp != nil && iface.Attrs().Xdp.ProgId == uint32(info.Program) {
			errs = append(errs, restoreInterface(table, info.XDP().Ifindex))
		}
	}
	return errors.Join(errs...)
}

func (d *Datapath) detach() error {
	var errs []error
	for _, p := range d.ports {
		if p.link == nil {
			continue
		}
		if d.directory != "" {
			_ = p.link.Unpin()
		}
		errs = append(errs, p.link.Close())
		p.link = nil
	}
	return errors.Join(errs...)
}
