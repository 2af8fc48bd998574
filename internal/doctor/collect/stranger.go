package collect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/netdev"
)

// stranger is somebody outside: a network namespace without a name, behind a veth that the data plane takes for a public
// interface. Namespace, veth and program end with this process, also where it is killed.
type stranger struct {
	address netip.Addr // whose packets come
	gateway netip.Addr // the near side's
	veth    *netlink.Veth
	outside *datapath.Outside
	work    chan func()
}

// strangers are networks that nobody has (RFC 5737), of which one is taken that no route of this machine leads into.
var strangers = []netip.Prefix{netip.MustParsePrefix("192.0.2.252/30"), netip.MustParsePrefix("203.0.113.252/30"), netip.MustParsePrefix("198.51.100.252/30")}

// leastRoute is how long the prefix of a route is that says of a network where it is; shorter ones lead everywhere.
const leastRoute = 8

func newStranger(instance string) (*stranger, error) {
	network, err := free()
	if err != nil {
		return nil, err
	}
	s := &stranger{gateway: network.Addr().Next(), address: network.Addr().Next().Next(), work: make(chan func())}
	far, err := s.begin()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a network namespace, which takes CAP_SYS_ADMIN: %w", err), s.Close())
	}
	defer far.Close()
	attributes := netlink.NewLinkAttrs()
	attributes.Name = fmt.Sprintf("rgdr%d", os.Getpid())
	veth := netlink.NewVeth(attributes)
	veth.PeerName, veth.PeerNamespace = "eth0", netlink.NsFd(far.Fd())
	if err := netlink.LinkAdd(veth); err != nil {
		return nil, errors.Join(fmt.Errorf("make a veth, which takes CAP_NET_ADMIN: %w", err), s.Close())
	}
	s.veth = veth
	err = s.near(netip.PrefixFrom(s.gateway, network.Bits()))
	if err == nil {
		err = s.do(func() error { return s.far(netip.PrefixFrom(s.address, network.Bits())) })
	}
	if err == nil {
		s.outside, err = datapath.AttachOutside(instance, attributes.Name)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func free() (netip.Prefix, error) {
	routes, err := netlink.RouteList(nil, unix.AF_INET)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("list the routes: %w", err)
	}
	for _, network := range strangers {
		taken := slices.ContainsFunc(routes, func(r netlink.Route) bool {
			if r.Dst == nil {
				return false
			}
			bits, _ := r.Dst.Mask.Size()
			a, ok := netip.AddrFromSlice(r.Dst.IP.To4())
			return ok && bits >= leastRoute && netip.PrefixFrom(a, bits).Overlaps(network)
		})
		if !taken {
			return network, nil
		}
	}
	return netip.Prefix{}, errors.New("this machine has routes into each of the networks for documentation, of which one is taken (RFC 5737)")
}

// begin has a thread in a namespace of its own do what it is given, and returns that namespace.
func (s *stranger) begin() (far *os.File, err error) {
	begun := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: it ends with its namespace
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			far, err = os.Open("/proc/thread-self/ns/net")
		}
		begun <- err
		for f := range s.work {
			f()
		}
	}()
	return far, <-begun
}

// do runs something in the namespace. Sockets that it opens stay there.
func (s *stranger) do(f func() error) error {
	done := make(chan error)
	s.work <- func() { done <- f() }
	return <-done
}

// near sets up the gateway's side.
func (s *stranger) near(address netip.Prefix) error {
	name := s.veth.Name
	for key, value := range map[string]string{"forwarding": "1", "accept_local": "1", "rp_filter": "2"} { // as at its public interfaces
		if err := os.WriteFile(filepath.Join("/proc/sys/net/ipv4/conf", name, key), []byte(value), 0); err != nil {
			return err
		}
	}
	return up(s.veth, address)
}

func (s *stranger) far(address netip.Prefix) error {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	link, err := netlink.LinkByName("eth0")
	if err != nil {
		return err
	}
	// XDP sees whole checksums alone.
	err = errors.Join(netdev.SetOffload("eth0", netdev.TxChecksum, false), netlink.LinkSetUp(loopback), up(link, address))
	if err != nil {
		return err
	}
	return netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: s.gateway.AsSlice()})
}

func up(link netlink.Link, address netip.Prefix) error {
	a, err := netlink.ParseAddr(address.String())
	if err != nil {
		return err
	}
	if err := errors.Join(netlink.AddrAdd(link, a), netlink.LinkSetUp(link)); err != nil {
		return fmt.Errorf("set up %s: %w", link.Attrs().Name, err)
	}
	return nil
}

// dial connects from there.
func (s *stranger) dial(ctx context.Context, network string, to netip.AddrPort) (connection net.Conn, err error) {
	err = s.do(func() (err error) {
		connection, err = (&net.Dialer{}).DialContext(ctx, network, to.String())
		return err
	})
	return connection, err
}

// Close ends it, and leaves nothing.
func (s *stranger) Close() error {
	var errs []error
	if s.outside != nil {
		errs = append(errs, s.outside.Close())
	}
	if s.veth != nil {
		errs = append(errs, netlink.LinkDel(s.veth))
	}
	close(s.work)
	return errors.Join(errs...)
}
