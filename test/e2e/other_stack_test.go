package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// otherStack is gVisor's TCP/IP at a node's interface, whose address it takes over from the kernel.
type otherStack struct{ *stack.Stack }

// otherStack runs at a node until the test ends. sack: whether it can selective acknowledgements.
func (r *realm) otherStack(at netns.Node, gateway netip.Addr, bits int, sack bool) *otherStack {
	r.t.Helper()
	r.at(at, "ip", "address", "flush", "dev", "eth0")
	mac, err := at.MAC("eth0")
	if err != nil {
		r.t.Fatal(err)
	}
	socket, err := packetSocket(at)
	if err != nil {
		r.t.Fatal(err)
	}
	link, err := fdbased.New(&fdbased.Options{FDs: []int{socket}, MTU: 1500, EthernetHeader: true, Address: tcpip.LinkAddress(mac), PacketDispatchMode: fdbased.RecvMMsg})
	if err != nil {
		r.t.Fatal(err)
	}
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	r.t.Cleanup(func() {
		s.Close()
		s.RemoveNIC(1)
		_ = unix.Close(socket)
	})
	selective := tcpip.TCPSACKEnabled(sack)
	own := tcpip.AddrFrom4(at.IP.As4()).WithPrefix()
	own.PrefixLen = bits
	for _, failed := range []tcpip.Error{
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &selective),
		s.CreateNIC(1, link),
		s.AddProtocolAddress(1, tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: own}, stack.AddressProperties{}),
	} {
		if failed != nil {
			r.t.Fatal(failed)
		}
	}
	s.SetRouteTable([]tcpip.Route{
		{Destination: own.Subnet(), NIC: 1},
		{Destination: header.IPv4EmptySubnet, Gateway: tcpip.AddrFrom4(gateway.As4()), NIC: 1},
	})
	return &otherStack{s}
}

// packetSocket gets all that comes in by a node's interface.
func packetSocket(at netns.Node) (fd int, err error) {
	err = at.Do(func() error {
		link, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // network byte order
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		return errors.Join(unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20),
			unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Index}))
	})
	if err != nil {
		return fd, fmt.Errorf("open a packet socket in %s: %w", at.Name(), err)
	}
	return fd, nil
}

// DialContext connects by this TCP. address is numeric.
func (s *otherStack) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	return gonet.DialContextTCP(ctx, s.Stack, tcpip.FullAddress{Addr: tcpip.AddrFrom4(to.Addr().As4()), Port: to.Port()}, ipv4.ProtocolNumber)
}

// accepts hands over each connection that comes to a port, until the test ends.
func (s *otherStack) accepts(t *testing.T, port uint16, handle func(net.Conn)) {
	t.Helper()
	listener, err := gonet.ListenTCP(s.Stack, tcpip.FullAddress{Port: port}, ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go handle(c)
		}
	}()
}

// TCP of another make than the kernel's, at the host or at the client, with and without SACK: octets arrive as they were sent.
func TestWebOtherStack(t *testing.T) {
	t.Parallel()
	for _, sack := range []bool{true, false} {
		t.Run(fmt.Sprintf("host, SACK %t", sack), func(t *testing.T) {
			t.Parallel()
			r := newRealm(t, netns.Options{Hosts: 1})
			k := new(couriers)
			r.otherStack(r.Hosts()[0], r.Gateway.PrivateAddress, 16, sack).accepts(t, 8080, k.serve)
			client, _ := r.behindWire(1, rough)
			h := r.leadsToTransfers().isAsked()
			t.Logf("the host is taken for %+v", h)
			if h.SACK != sack {
				t.Error("what it can is not known")
			}
			k.whole(t, client)
		})
		t.Run(fmt.Sprintf("client, SACK %t", sack), func(t *testing.T) {
			t.Parallel()
			r := newRealm(t, netns.Options{Hosts: 1})
			k := new(couriers)
			accepts(t, r.Hosts()[0], 8080, k.serve)
			client, _ := r.behindWire(1, rough)
			other := r.otherStack(client, netip.AddrFrom4([4]byte{198, 19, 201, 1}), 24, sack)
			r.leadsToTransfers().isAsked()
			k.whole(t, other)
		})
	}
}
