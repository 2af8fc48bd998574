package datapath

import (
	"errors"
	"fmt"

	"github.com/realmgate/realmgate/internal/netdev"
)

// Mode is how a program is attached to an interface.
type Mode string

// The two hooks of the kernel that programs are compiled for, and none.
const (
	XDP    Mode = "xdp"    // in the driver, before there is a socket buffer
	TCX    Mode = "tcx"    // where traffic control begins: takes aggregates and partial checksums
	CLSACT Mode = "clsact" // the same in kernels before 6.6, where it is a filter
	Absent Mode = "absent" // the interface has vanished; it is attached to when it is back
)

// Auto leaves the choice to what the interface is: a mode that may be wanted, and none that is.
const Auto Mode = "auto"

// physical is the kind of interfaces that have a driver of their own, as netlink calls it.
const physical = "device"

// choose returns in which mode a program is to be attached to an interface of that kind, and
// why. A bare one has no link header. Virtual interfaces hand over whole aggregates with partial checksums, which XDP never
// sees: on a veth its far side would have to do without.
func choose(wanted Mode, kind string, bare bool, features netdev.Features, known bool) (mode Mode, why string) {
	// Many cards take redirected frames only while a program is attached: confirm asks again then.
	switch takes := features.TakesRedirects() || kind == physical; {
	case bare:
		return TCX, "its packets have no Ethernet header"
	case wanted == TCX:
		return TCX, "interfaces.tcx says so"
	case wanted == Auto && kind != physical:
		return TCX, fmt.Sprintf("a %s hands over aggregates", kind)
	case known && !features.RunsPrograms():
		return TCX, "its driver runs no XDP programs"
	case known && !takes || !known && kind == "veth": // before 6.3 the kernel cannot say; a veth may lose frames in silence
		return TCX, errTakesNone.Error()
	case wanted == XDP:
		return XDP, "interfaces.xdp says so"
	}
	return XDP, "its driver runs XDP programs"
}

var errTakesNone = errors.New("it takes no frames that XDP redirects")

// confirm says whether an interface that XDP is attached to may keep it.
func confirm(features netdev.Features, known bool) error {
	if known && !features.TakesRedirects() {
		return errTakesNone
	}
	return nil
}

// redirects is what may be redirected to the interface.
func redirects(kind string, bare, ethernet bool, features netdev.Features, known bool) bpfRedirect {
	switch {
	case bare: // the kernel takes Ethernet off buffers alone
		return bpfRedirectREDIRECT_BUFFERS
	case features.TakesRedirects() || !known && kind != "veth":
		return bpfRedirectREDIRECT_FRAMES
	case ethernet:
		return bpfRedirectREDIRECT_BUFFERS
	}
	return bpfRedirectREDIRECT_NOTHING
}

// followMode attaches in another mode when the interface is another than it was. What a
// driver refused is not tried again before the interface has changed.
func (d *attachment) followMode(p *port) error {
	if p.hold == nil || p.mode == p.chosen || p.chosen == XDP && p.refused != "" {
		return nil
	}
	before := p.mode
	err := d.reattach(p)
	d.options.Logger.Info("attached again", "interface", p.name, "mode", p.mode, "before", before, "why", p.why)
	return err
}

// reattach attaches in another mode. The kernel does not hold both at a time; meanwhile
// it forwards nothing untranslated.
func (d *attachment) reattach(p *port) error {
	if err := d.stopHost(p.name, p.ifindex); err != nil {
		return err
	}
	_ = p.hold.remove()
	p.hold = nil
	if err := d.attachChosen(p); err != nil {
		return err
	}
	return d.prepareHost(p.name, p.ifindex)
}
