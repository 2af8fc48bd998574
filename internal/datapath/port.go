package datapath

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/netdev"
)

// port is an interface of the gateway.
type port struct {
	name    string
	side    bpfSide
	ifindex int
	mode    Mode
	why     string // the mode is that
	chosen  Mode   // by what the interface is
	refused string // why its driver takes no XDP program, as the interface is now
	mtu     int
	takes   bpfRedirect
	bare    bool         // without link headers
	hold    hold         // the program, nil: none is attached
	written bpfInterface // what stands in interface_table
}

// Interface describes an interface of the gateway.
type Interface struct {
	Name    string `json:"name"`
	Side    string `json:"side"`
	Ifindex int    `json:"ifindex"`
	Mode    Mode   `json:"mode"`
	Why     string `json:"why"` // the mode is that
	// Redirect tells whether all packets reach it by redirect; otherwise those that came
	// to an XDP program, or all, go through the kernel's stack.
	Redirect bool `json:"redirect"`
}

// Interfaces lists the attached interfaces.
func (d *attachment) Interfaces() []Interface {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	frames := slices.ContainsFunc(d.ports, func(p *port) bool { return p.mode == XDP })
	list := make([]Interface, 0, len(d.ports))
	for _, p := range d.ports {
		takes := bpfRedirect(p.written.Redirect)
		mode, why := p.mode, p.why
		if _, old := p.hold.(*filter); old {
			mode, why = CLSACT, why+"; this kernel has no tcx"
		}
		list = append(list, Interface{Name: p.name, Side: sideName(p.side), Ifindex: p.ifindex, Mode: mode, Why: why,
			Redirect: takes == bpfRedirectREDIRECT_FRAMES || takes == bpfRedirectREDIRECT_BUFFERS && !frames})
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
func (d *attachment) Attach() error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, name := range d.options.Public {
		d.ports = append(d.ports, &port{name: name, side: bpfSideSIDE_PUBLIC})
	}
	for _, name := range d.options.Private {
		d.ports = append(d.ports, &port{name: name, side: bpfSideSIDE_PRIVATE})
	}
	if err := d.discardPorts(); err != nil {
		return err
	}
	if d.options.Single { // an earlier daemon may have served a gateway
		if err := d.restoreHost(); err != nil {
			return err
		}
	}
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

// entering is where ports' programs are: first, as what they translate is for all others.
var entering = place{attach: ebpf.AttachTCXIngress, parent: netlink.HANDLE_MIN_INGRESS, first: true, pins: "ingress_"}

// attach attaches the side's program in the mode that the interface asks for, and prepares
// the interface's settings.
func (d *attachment) attach(p *port) error {
	iface, err := netlink.LinkByName(p.name)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", p.name, err)
	}
	p.ifindex, p.mtu, p.refused = iface.Attrs().Index, iface.Attrs().MTU, ""
	if err := d.look(p, iface); err != nil {
		return err
	}
	if p.bare && d.options.SingleFlows { // what leaves by it has no header to read a flow from
		return fmt.Errorf("attach to %s: it has no Ethernet header, which chains on a single machine need: remove chains, or list the interface below it", p.name)
	}
	if d.adopt(p) {
		return d.prepareHost(p.name, p.ifindex)
	}
	if err := d.attachChosen(p); err != nil {
		return err
	}
	return d.prepareHost(p.name, p.ifindex)
}

// look notes what the interface is, and how a program is to be attached to it.
func (d *attachment) look(p *port, iface netlink.Link) error {
	features, known, err := netdev.XDPFeatures(p.ifindex)
	if err != nil {
		return err
	}
	wanted := d.options.Modes[p.name]
	if wanted == "" {
		wanted = Auto
	}
	var why string
	p.bare = netdev.IsBare(iface)
	p.chosen, why = choose(wanted, iface.Type(), p.bare, features, known)
	p.takes = redirects(iface.Type(), p.bare, netdev.IsEthernet(iface), features, known)
	if p.mode == p.chosen || p.mode == "" {
		p.why = why
	}
	return nil
}

// attachChosen attaches in the mode that was chosen, where a driver refuses XDP at tcx.
func (d *attachment) attachChosen(p *port) error {
	if p.chosen == XDP {
		if err := d.attachMode(p, XDP); err != nil {
			p.refused = fmt.Sprintf("its driver refuses XDP: %v", err)
		} else if err := d.confirmPort(p); err != nil {
			p.refused = err.Error()
			_ = p.hold.remove()
			p.hold = nil
		}
	}
	if p.hold == nil {
		if err := d.attachMode(p, TCX); err != nil {
			return fmt.Errorf("attach to %s: %w", p.name, err)
		}
		if p.chosen == XDP {
			p.why = p.refused
		}
	}
	return nil
}

// confirmPort asks what an interface takes now that XDP is attached to it.
func (d *attachment) confirmPort(p *port) error {
	features, known, err := netdev.XDPFeatures(p.ifindex)
	if err != nil {
		return err
	}
	if err := confirm(features, known); err != nil {
		return err
	}
	p.takes = bpfRedirectREDIRECT_FRAMES
	return nil
}

func (d *attachment) attachMode(p *port, mode Mode) (err error) {
	program, err := d.Entry(mode, p.side == bpfSideSIDE_PUBLIC, p.bare)
	if err != nil {
		return err
	}
	if mode == TCX {
		p.hold, err = d.attachBuffers(entering, p.name, p.ifindex, program)
	} else {
		var attached link.Link
		if attached, err = link.AttachXDP(link.XDPOptions{Program: program, Interface: p.ifindex, Flags: link.XDPDriverMode}); err == nil {
			p.hold, err = pinned(attached, d.pinPath(entering.pins+p.name))
		}
	}
	if err != nil {
		p.hold = nil
		return err
	}
	p.mode = mode
	return nil
}

// adopt takes over what an earlier daemon left on the interface, and puts our program in its place.
func (d *attachment) adopt(p *port) bool {
	if d.directory == "" {
		return false
	}
	adopted, err := adoptHold(d.pinPath(entering.pins+p.name), func(old link.Link) error {
		mode, ifindex, err := linkOf(old)
		switch {
		case err != nil:
			return err
		case ifindex != p.ifindex || mode != TCX && (mode != p.chosen || !isNative(ifindex)):
			return errors.New("it is attached otherwise")
		}
		program, err := d.Entry(mode, p.side == bpfSideSIDE_PUBLIC, p.bare)
		if err != nil {
			return err
		}
		p.mode = mode
		return old.Update(program)
	})
	if err != nil {
		d.options.Logger.Warn("attaching anew", "interface", p.name, "why", err)
	}
	if adopted == nil && slices.ContainsFunc(d.leftFilters(entering), func(f *filter) bool { return f.index == p.ifindex }) {
		if err := d.attachMode(p, TCX); err != nil {
			return false
		}
		adopted = p.hold
	}
	if adopted == nil {
		return false
	}
	p.hold = adopted
	if p.mode != p.chosen { // to try XDP would stop its packets for a moment
		p.refused = "an earlier daemon attached it so"
		p.why = p.refused
	}
	return true
}

// Detach has the programs of interfaces judge nothing more. Until Close has put the settings of the host back the kernel forwards
// nothing either, whatever it did before.
func (d *attachment) Detach() error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	var errs []error
	for _, p := range d.ports {
		if p.hold == nil || d.options.Single {
			continue
		}
		iface, err := netlink.LinkByIndex(p.ifindex) // it may have another name by now
		if err == nil {
			err = writeSetting(iface.Attrs().Name, "forwarding", 0)
		}
		if !errors.As(err, &netlink.LinkNotFoundError{}) && !errors.Is(err, fs.ErrNotExist) { // it has gone
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, d.detach())...)
}

func (d *attachment) detach() error {
	var errs []error
	for _, p := range d.ports {
		if p.hold != nil {
			errs = append(errs, p.hold.remove())
			p.hold = nil
		}
	}
	return errors.Join(errs...)
}
