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

// carrier is a pair of interfaces of the gateway's own: what is sent to the near end arrives at
// the far end, where it has a program.
type carrier struct {
	carrierKind

	program   *ebpf.Program
	near, far int // their indexes, 0 without
	hold      hold
	failed    bool // and the log says so
}

// carrierKind is what a pair is for.
type carrierKind struct {
	prefix  string     // of the names of its interfaces
	purpose string     // in their alias
	lost    string     // without it
	place   bpfCarrier // in the table
	whole   bool       // what arrives is single packets, whose checksums are filled in
}

// ofFragments is the pair by which fragments that were held are released (bpf/fragment/carrier.h):
// the program makes of each copy what is in a slot. At tcx it also has frames of the daemon's come
// in again.
var ofFragments = carrierKind{
	prefix: "rgfrag", purpose: "fragments", place: bpfCarrierCARRIER_FRAGMENTS,
	lost: "early fragments are dropped; at tcx, what web names and ask hold is lost, too",
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
func (d *carrierSet) carrierNames(c *carrier) (near, far string, found bool) {
	for number := 0; ; number++ {
		near, far = fmt.Sprintf("%s%d", c.prefix, number), fmt.Sprintf("%s%dp", c.prefix, number)
		iface, err := netlink.LinkByName(near)
		if err != nil {
			return near, far, false
		}
		if iface.Attrs().Alias == d.carrierAlias(c) {
			return near, far, true
		}
	}
}

func (d *carrierSet) carrierAlias(c *carrier) string {
	return "realmgate " + d.options.Instance + ": " + c.purpose
}

// followCarrier has the pair there, and its program at the far end. What it is for is dropped
// without it; all else goes on.
func (d *carrierSet) followCarrier(c *carrier) {
	err := d.keepCarrier(c)
	if err == nil {
		c.failed = false
		return
	}
	if !c.failed {
		d.options.Logger.Warn("carrier update failed", "carrier", c.purpose, "hint", c.lost, "error", err)
	}
	c.failed = true
	_ = d.objects.CarrierTable.Put(uint32(c.place), uint32(0))
}

func (d *carrierSet) keepCarrier(c *carrier) error {
	nearName, farName, found := d.carrierNames(c)
	if !found {
		if err := d.makeCarrier(c, nearName, farName); err != nil {
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
	if c.hold != nil && c.near == near.Attrs().Index && c.far == far.Attrs().Index {
		return d.keepHost(farName)
	}
	return d.useCarrier(c, near, far)
}

// makeCarrier makes the pair: it speaks neither ARP nor IPv6, and forwards what is left to the
// kernel as the gateway's interfaces do.
func (d *carrierSet) makeCarrier(c *carrier, near, far string) error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU, attributes.Alias = near, carrierMTU, d.carrierAlias(c)
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
	if err := netlink.LinkSetAlias(made, d.carrierAlias(c)); err != nil {
		return errors.Join(fmt.Errorf("mark %s as ours: %w", near, err), netlink.LinkDel(made))
	}
	return nil
}

// useCarrier prepares both ends, attaches the program and tells the others.
func (d *carrierSet) useCarrier(c *carrier, near, far netlink.Link) error {
	for _, end := range []netlink.Link{far, near} { // the near end looks at the other when it comes up: without GRO, which would join what is single, it takes no frames of XDP
		name := end.Attrs().Name
		_ = os.WriteFile(filepath.Join("/proc/sys/net/ipv6/conf", name, "disable_ipv6"), []byte("1"), 0) // there may be no IPv6
		if err := errors.Join(netlink.LinkSetARPOff(end), netdev.SetOffload(name, netdev.GRO, !c.whole), netlink.LinkSetUp(end)); err != nil {
			return fmt.Errorf("prepare %s: %w", name, err)
		}
	}
	if c.whole { // the kernel then segments what is sent there, too
		if err := netdev.SetOffload(near.Attrs().Name, netdev.TxChecksum, false); err != nil {
			return fmt.Errorf("prepare %s: %w", near.Attrs().Name, err)
		}
	}
	if err := netlink.AddrReplace(far, &netlink.Addr{IPNet: dummyAddress, Scope: int(netlink.SCOPE_HOST)}); err != nil {
		return fmt.Errorf("give %s an address: %w", far.Attrs().Name, err)
	}
	if err := writeHost(far.Attrs().Name, hostWanted); err != nil {
		return err
	}
	if err := d.attachCarrier(c, far.Attrs().Name, far.Attrs().Index); err != nil {
		return fmt.Errorf("attach to %s: %w", far.Attrs().Name, err)
	}
	c.near, c.far = near.Attrs().Index, far.Attrs().Index
	if c.place == bpfCarrierCARRIER_FRAGMENTS {
		if err := d.copyTo(c, near.Attrs().Name); err != nil {
			return err
		}
	}
	return d.objects.CarrierTable.Put(uint32(c.place), uint32(c.near))
}

// copyTo has frames of XDP copied to the near end.
func (d *carrierSet) copyTo(c *carrier, near string) error {
	o := &d.objects
	for _, table := range []*ebpf.Map{o.Carrier2, o.Carrier3, o.Carrier4, o.Carrier5, o.Carrier6, o.Carrier7, o.Carrier8, o.Carrier9} {
		for place := range table.MaxEntries() {
			if err := table.Put(place, uint32(c.near)); err != nil {
				return fmt.Errorf("send copies to %s: %w", near, err)
			}
		}
	}
	return nil
}

// carried is where the program at the far end is.
var carried = place{attach: ebpf.AttachTCXIngress, parent: netlink.HANDLE_MIN_INGRESS, first: true, pins: "carrier_"}

// attachCarrier attaches the program to the far end, in the place of an earlier daemon's.
func (d *carrierSet) attachCarrier(c *carrier, name string, ifindex int) (err error) {
	if c.hold != nil {
		_ = c.hold.remove()
		c.hold = nil
	}
	if d.directory != "" {
		c.hold, err = adoptHold(d.pinPath(carried.pins+name), func(old link.Link) error {
			_, at, err := linkOf(old)
			if err == nil && at != ifindex {
				err = errors.New("it is of another interface")
			}
			if err != nil {
				return err
			}
			return old.Update(c.program)
		})
		if err == nil && c.hold != nil {
			return nil
		}
	}
	c.hold, err = d.attachBuffers(carried, name, ifindex, c.program)
	return err
}

// closeCarriers gives the pairs up; keep leaves them at work.
func (d *carrierSet) closeCarriers(keep bool) error {
	errs := []error{d.carrier.program.Close()}
	for _, c := range []*carrier{&d.carrier, &d.edgeCarrier} {
		if c.hold != nil {
			errs = append(errs, c.hold.keep())
		}
		if near, err := netlink.LinkByIndex(c.near); !keep && c.near != 0 && err == nil && near.Attrs().Alias == d.carrierAlias(c) {
			errs = append(errs, netlink.LinkDel(near))
		}
	}
	return errors.Join(errs...)
}
