package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
	"github.com/realmgate/realmgate/internal/netdev"
)

// External names the two interfaces of this machine, in the network namespace of
// this process, between which a box stands: the initiator's, on the box's private
// side, and the responder's, on its public side.
type External struct {
	Initiator, Responder string
	Reset                string // a shell's command that ends all sessions of the box; "" is that nobody can
}

// Addresses at a box, after RFC 9693 section 4.1 with a single pair of them. The
// box needs no route: all are in networks that it is connected to.
var (
	externalInitiator = side{netip.MustParsePrefix("10.0.0.2/16"), netip.MustParseAddr("10.0.0.1")}
	externalResponder = side{netip.MustParsePrefix("198.19.0.2/16"), netip.MustParseAddr("198.19.0.1")}
)

// side is the tester's address at one of its interfaces, and the box's there.
type side struct {
	own netip.Prefix
	box netip.Addr
}

func (e External) check() error {
	if e.Initiator == "" || e.Responder == "" || e.Initiator == e.Responder {
		return fmt.Errorf("the box stands between %q and %q: give two interfaces, the initiator's and the responder's", e.Initiator, e.Responder)
	}
	return nil
}

// Usable returns an error that says why the tester cannot send and receive by these
// interfaces.
func (e External) Usable() error {
	for _, name := range []string{e.Initiator, e.Responder} {
		if _, err := usable(name); err != nil {
			return err
		}
	}
	return nil
}

// lay gives the interfaces their addresses and finds the box behind them.
func (e External) lay(ctx context.Context, host *Host) (*Rig, error) {
	var links [2]netlink.Link
	for i, name := range []string{e.Initiator, e.Responder} {
		link, err := usable(name)
		if err != nil {
			return nil, err
		}
		links[i] = link
	}
	r := &Rig{ResetCommand: e.Reset}
	for i, s := range []side{externalInitiator, externalResponder} {
		if err := s.free(links[i]); err != nil {
			return nil, err
		}
		if err := host.addAddress(links[i], s.own); err != nil {
			return nil, err
		}
		attributes := links[i].Attrs()
		box, err := resolve(ctx, attributes.Name, attributes.Index, s.box)
		if err != nil {
			return nil, err
		}
		port := trafficgen.Port{Name: attributes.Name, Index: attributes.Index, MAC: attributes.HardwareAddr, Device: box}
		if i == 0 {
			r.Initiator = port
		} else {
			r.Responder = port
		}
	}
	return r, nil
}

// usable wants an interface that is up, runs XDP programs and takes the tester's
// frames.
func usable(name string) (netlink.Link, error) {
	link, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil, fmt.Errorf("there is no interface %s here: choose among %s", name, interfaces())
	}
	if err != nil {
		return nil, fmt.Errorf("find interface %s: %w", name, err)
	}
	a := link.Attrs()
	switch {
	case len(a.HardwareAddr) != 6:
		return nil, fmt.Errorf("%s is no Ethernet interface", name)
	case a.Flags&net.FlagUp == 0:
		return nil, fmt.Errorf("%s is down: ip link set %s up", name, name)
	case a.OperState == netlink.OperLowerLayerDown || a.OperState == netlink.OperDown:
		return nil, fmt.Errorf("%s has no link: is its cable in, and what is at the other end up?", name)
	}
	features, known, err := netdev.XDPFeatures(a.Index)
	if err != nil || !known { // older kernels do not say; attaching will
		return link, err
	}
	if !features.RunsPrograms() {
		return nil, fmt.Errorf("%s runs no XDP programs in native mode, which the tester needs: choose an interface whose driver does", name)
	}
	if !features.TakesRedirects() {
		return nil, fmt.Errorf("%s takes no frames from XDP programs, by which the tester sends: choose another; a veth takes them when its other end has GRO (with both up, ethtool -K PEER gro off, and on again)", name)
	}
	return link, nil
}

func interfaces() string {
	links, err := netlink.LinkList()
	if err != nil {
		return err.Error()
	}
	var names []string
	for _, link := range links {
		if link.Attrs().Flags&net.FlagLoopback == 0 {
			names = append(names, link.Attrs().Name)
		}
	}
	return strings.Join(names, ", ")
}

// free wants nothing else here to be in the networks of a run.
func (s side) free(link netlink.Link) error {
	addresses, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("list this machine's addresses: %w", err)
	}
	for _, a := range addresses {
		address, _ := netip.AddrFromSlice(a.IP.To4())
		ones, _ := a.Mask.Size()
		if a.LinkIndex != link.Attrs().Index && s.own.Overlaps(netip.PrefixFrom(address, ones)) {
			return fmt.Errorf("%s is in %s, which the test uses: move %s into a network namespace of its own with the other interface, and run there",
				a.IPNet, s.own.Masked(), link.Attrs().Name)
		}
	}
	return nil
}
