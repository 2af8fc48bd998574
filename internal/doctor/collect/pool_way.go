package collect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/doctor"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// The router outside is sent a packet for the pool, as everybody's are. It comes back where the pool leads here; with so short a
// life, whoever else gets it says that it has ended.
const (
	probeTTL   = 2
	probePort  = 33434 // traceroute's first
	probeSends = 3
	probeWaits = 400 * time.Millisecond // for what comes of each
	mostProbed = 4                      // addresses
	aFrame     = 2048                   // octets
)

// hop is a router outside, and the interface that it is at.
type hop struct {
	link    netlink.Link
	address netip.Addr // ours there
	router  netip.Addr
	mac     packets.MAC
}

// poolWays asks the first router outside that there is for the beginning of each row of addresses. atWork: somebody answers ARP
// for them.
func poolWays(ctx context.Context, c *config.Config, o client.Options, atWork bool) (list []doctor.PoolWay) {
	h, ok := routerOutside(c.Interfaces.Public)
	if !ok {
		return nil
	}
	addresses, _ := netlink.AddrList(h.link, unix.AF_INET)
	isLink := func(a netip.Addr) bool {
		return slices.ContainsFunc(addresses, func(n netlink.Addr) bool { return n.Contains(a.AsSlice()) })
	}
	var asked []netip.Addr
	for n, a := range c.Pool.Addresses {
		begins := n == 0 || c.Pool.Addresses[n-1].Next() != a
		if len(asked) < mostProbed && begins && (atWork || !isLink(a)) && !isOwn(a) {
			asked = append(asked, a)
		}
	}
	var waits sync.WaitGroup
	list = make([]doctor.PoolWay, len(asked))
	for n, a := range asked {
		waits.Go(func() { list[n] = h.probe(ctx, a, client.New(o)) })
	}
	waits.Wait()
	return list
}

// isOwn reports whether an address is on an interface, and so is the kernel's matter.
func isOwn(a netip.Addr) bool {
	all, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(all, func(n net.Addr) bool { p, err := netip.ParsePrefix(n.String()); return err == nil && p.Addr() == a })
}

// routerOutside is the first default router at a public interface whose link address the kernel knows.
func routerOutside(public []string) (h hop, ok bool) {
	hops, _ := defaultHops()
	for _, d := range hops {
		if !slices.Contains(public, d.link.Attrs().Name) || !d.router.IsValid() {
			continue
		}
		entries, _ := netlink.NeighList(d.link.Attrs().Index, unix.AF_INET)
		at := slices.IndexFunc(entries, func(n netlink.Neigh) bool { return n.IP.Equal(d.router.AsSlice()) && len(n.HardwareAddr) == len(h.mac) })
		routes, err := netlink.RouteGet(d.router.AsSlice())
		if at < 0 || err != nil || len(routes) == 0 {
			continue
		}
		copy(d.mac[:], entries[at].HardwareAddr)
		if d.address, ok = netip.AddrFromSlice(routes[0].Src.To4()); ok {
			return d, true
		}
	}
	return h, false
}

// probe sends a packet for an address of the pool to the router, and looks what becomes of it.
func (h hop) probe(ctx context.Context, a netip.Addr, c *client.Client) doctor.PoolWay {
	way := doctor.PoolWay{Address: a}
	socket, err := h.listen()
	if err != nil {
		return way // who may not listen knows nothing
	}
	defer unix.Close(socket)
	from := uint16(unix.Getpid()%(1<<15) + 1<<15) // as many packets of others go the other way
	ctx, stop := context.WithTimeout(ctx, probeSends*probeWaits)
	defer stop()
	here := make(chan struct{})
	go h.watch(ctx, c, netip.AddrPortFrom(a, probePort), from, here)
	packet := packets.NewUDP(netip.AddrPortFrom(h.address, from), netip.AddrPortFrom(a, probePort), "realmgate doctor").Change(func(p *packets.Packet) {
		p.IPv4.TTL = probeTTL
	})
	var own packets.MAC
	copy(own[:], h.link.Attrs().HardwareAddr)
	frame := packet.Between(own, h.mac).Bytes()
	to := &unix.SockaddrLinklayer{Ifindex: h.link.Attrs().Index, Halen: uint8(len(h.mac))}
	copy(to.Addr[:], h.mac[:])
	buffer := make([]byte, aFrame)
	for range probeSends {
		if err := unix.Sendto(socket, frame, 0, to); err != nil {
			return way
		}
		for end := time.Now().Add(probeWaits); time.Now().Before(end) && !way.Here && !way.Lost.IsValid(); {
			select {
			case <-here:
				way.Here = true
			default:
				h.receive(socket, buffer, packet, &way)
			}
		}
	}
	return way
}

const receiveWaits = 50 * time.Millisecond

// listen opens a socket for the interface's packets of IPv4, as they come in and before anybody else has them but XDP.
func (h hop) listen() (int, error) {
	const ipv4 = unix.ETH_P_IP>>8 | unix.ETH_P_IP&0xff<<8 // in network byte order
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, ipv4)
	if err != nil {
		return -1, err
	}
	wait := unix.NsecToTimeval(receiveWaits.Nanoseconds())
	err = errors.Join(unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait),
		unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: ipv4, Ifindex: h.link.Attrs().Index}))
	if err != nil {
		return -1, errors.Join(err, unix.Close(socket))
	}
	return socket, nil
}

// receive looks at one packet: at ours, or at an ICMP error about it.
func (h hop) receive(socket int, buffer []byte, sent packets.Packet, way *doctor.PoolWay) {
	n, from, err := unix.Recvfrom(socket, buffer, 0)
	if link, ok := from.(*unix.SockaddrLinklayer); err != nil || !ok || link.Pkttype == unix.PACKET_OUTGOING {
		return
	}
	p, err := packets.Parse(buffer[:n])
	if err != nil || p.IPv4 == nil {
		return
	}
	if p.UDP != nil && p.Tuple() == sent.Tuple() {
		way.Here = true
		return
	}
	if p.ICMP == nil || len(p.Payload) < 28 {
		return
	}
	said := map[uint8]string{3: "that it is unreachable", 11: "that it would pass it on"}[p.ICMP.Type]
	quote := p.Payload // RFC 792: the header and eight octets
	mine := netip.AddrFrom4([4]byte(quote[12:16])) == h.address && netip.AddrFrom4([4]byte(quote[16:20])) == way.Address
	if said != "" && mine {
		way.Lost, way.Error = p.IPv4.Source, fmt.Sprintf("%s (ICMP type %d, code %d)", said, p.ICMP.Type, p.ICMP.Code)
	}
}

// watch hears of the packet where XDP has dropped it, as it has to: nobody outside has an address of ours.
func (h hop) watch(ctx context.Context, c *client.Client, to netip.AddrPort, from uint16, here chan struct{}) {
	var f client.Filter
	if f.Set("address", to.Addr().String()) != nil {
		return
	}
	_ = c.Drops(ctx, f, func() {}, func(d client.Drop) bool {
		if d.Tuple.Source != netip.AddrPortFrom(h.address, from) || d.Tuple.Destination != to {
			return true
		}
		close(here)
		return false
	})
}
