package datapath

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/netdev"
)

// carrier is a pair of interfaces of the gateway's own, by which fragments that were held are
// released (bpf/fragment/carrier.h): copies are sent to the near end, and the program at the far
// end makes of each what is in a slot. At tcx it also has frames of the daemon's come in again.
type carrier struct {
	near, far int // their indexes, 0 without
	hold      hold
	failed    bool // and the log says so
}

// carrierMTU lets any frame through; carrierQueues is the most that the far end has.
const (
	carrierMTU    = 65535
	carrierQueues = 8
)

// dummyAddress is nobody's (RFC 7600 section 4.8). By an interface without addresses the kernel's reverse path filter, a loose
// one (rp_filter 2) too, lets in only what the way back is by that interface for.
var dummyAddress = &net.IPNet{IP: net.IPv4(192, 0, 0, 8), Mask: net.CIDRMask(32, 32)}

// carrierNames are the first that are free, or the instance's of an earlier daemon, which its
// alias tells.
func (d *carrierSet) carrierNames() (near, far string, found bool) {
	for number := 0; ; number++ {
		near, far = fmt.Sprintf("rgfrag%d", number), fmt.Sprintf("rgfrag%dp", number)
		iface, err := netlink.LinkByName(near)
		if err != nil {
			return near, far, false
		}
		if iface.Attrs().Alias == d.carrierAlias() {
			return near, far, true
		}
	}
}

func (d *carrierSet) carrierAlias() string {
	return "realmgate " + d.options.Instance + ": fragments"
}

// followCarrier has the pair there, and its program at the far end. Without it early fragments
// are dropped, and at tcx what the daemon sends again; all else goes on.
func (d *carrierSet) followCarrier() {
	err := d.keepCarrier()
	if err == nil {
		d.carrier.failed = false
		return
	}
	if !d.carrier.failed {
		d.options.Logger.Warn("fragment carrier update failed", "hint", "early fragments are dropped; at tcx, what web names and ask hold is lost, too", "error", err)
	}
	d.carrier.failed = true
	_ = d.objects.CarrierTable.Put(uint32(0), uint32(0))
}

func (d *carrierSet) keepCarrier() error {
	nearName, farName, found := d.carrierNames()
	if !found {
		if err := d.makeCarrier(nearName, farName); err != nil {
			return err
		}
	}
	near, err := netlink.LinkByName(nearName)
	if err != nil {
		return fmt.Errorf("find %s: %w", nearName, err)
	}
	far, err := netlink.LinkByName(farName)
	if err != nil {
		return errors.Join(fmt.Errorf("find %s: %w", farName, err), netlink.LinkDel(near))
	}
	if d.carrier.hold != nil && d.carrier.near == near.Attrs().Index && d.carrier.far == far.Attrs().Index {
		return d.keepHost(farName)
	}
	return d.useCarrier(near, far)
}

// makeCarrier makes the pair: it speaks neither ARP nor IPv6, and forwards what is left to the
// kernel as the gateway's interfaces do.
func (d *carrierSet) makeCarrier(near, far string) error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU, attributes.Alias = near, carrierMTU, d.carrierAlias()
	queues := min(runtime.NumCPU(), carrierQueues)
	attributes.NumTxQueues, attributes.NumRxQueues = queues, queues
	pair := netlink.NewVeth(attributes)
	pair.PeerName, pair.PeerMTU = far, carrierMTU
	pair.PeerNumTxQueues, pair.PeerNumRxQueues = uint32(queues), uint32(queues)
	if err := netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("make the interfaces %s and %s: %w", near, far, err)
	}
	made, err := netlink.LinkByName(near)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetAlias(made, d.carrierAlias()); err != nil {
		return errors.Join(fmt.Errorf("mark %s as ours: %w", near, err), netlink.LinkDel(made))
	}
	return nil
}

// useCarrier prepares both ends, attaches the program and tells the others.
func (d *carrierSet) useCarrier(near, far netlink.Link) error {
	for _, end := range []netlink.Link{far, near} { // the near end looks at the other when it comes up: without GRO it takes no frames
		name := end.Attrs().Name
		_ = os.WriteFile(filepath.Join("/proc/sys/net/ipv6/conf", name, "disable_ipv6"), []byte("1"), 0) // there may be no IPv6
		if err := errors.Join(netlink.LinkSetARPOff(end), netdev.SetOffload(name, netdev.GRO, true), netlink.LinkSetUp(end)); err != nil {
			return fmt.Errorf("prepare %s: %w", name, err)
		}
	}
	if err := netlink.AddrReplace(far, &netlink.Addr{IPNet: dummyAddress, Scope: int(netlink.SCOPE_HOST)}); err != nil {
		return fmt.Errorf("give %s an address: %w", far.Attrs().Name, err)
	}
	if err := writeHost(far.Attrs().Name, hostWanted); err != nil {
		return err
	}
	if err := d.attachCarrier(far.Attrs().Name, far.Attrs().Index); err != nil {
		return fmt.Errorf("attach to %s: %w", far.Attrs().Name, err)
	}
	d.carrier.near, d.carrier.far = near.Attrs().Index, far.Attrs().Index
	o := &d.objects
	for _, table := range []*ebpf.Map{o.Carrier2, o.Carrier3, o.Carrier4, o.Carrier5, o.Carrier6, o.Carrier7, o.Carrier8, o.Carrier9} {
		for place := range table.MaxEntries() {
			if err := table.Put(place, uint32(d.carrier.near)); err != nil {
				return fmt.Errorf("send copies to %s: %w", near.Attrs().Name, err)
			}
		}
	}
	return d.objects.CarrierTable.Put(uint32(0), uint32(d.carrier.near))
}

// carried is where the program at the far end is.
var carried = place{attach: ebpf.AttachTCXIngress, parent: netlink.HANDLE_MIN_INGRESS, first: true, pins: "carrier_"}

// attachCarrier attaches the program to the far end, in the place of an earlier daemon's.
func (d *carrierSet) attachCarrier(name string, ifindex int) (err error) {
	if d.carrier.hold != nil {
		_ = d.carrier.hold.remove()
		d.carrier.hold = nil
	}
	if d.directory != "" {
		d.carrier.hold, err = adoptHold(d.pinPath(carried.pins+name), func(old link.Link) error {
			_, at, err := linkOf(old)
			if err == nil && at != ifindex {
				err = errors.New("it is of another interface")
			}
			if err != nil {
				return err
			}
			return old.Update(d.carrierProgram)
		})
		if err == nil && d.carrier.hold != nil {
			return nil
		}
	}
	d.carrier.hold, err = d.attachBuffers(carried, name, ifindex, d.carrierProgram)
	return err
}

// closeCarrier gives the pair up; keep leaves it at work.
func (d *carrierSet) closeCarrier(keep bool) error {
	errs := []error{d.carrierProgram.Close()}
	if d.carrier.hold != nil {
		errs = append(errs, d.carrier.hold.keep())
	}
	if near, err := netlink.LinkByIndex(d.carrier.near); !keep && d.carrier.near != 0 && err == nil && near.Attrs().Alias == d.carrierAlias() {
		errs = append(errs, netlink.LinkDel(near))
	}
	return errors.Join(errs...)
}
