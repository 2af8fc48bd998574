package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// speaker is a protocol without ports: what one end asks, and what the other says to exactly that.
type speaker struct {
	name             string
	protocol         model.Protocol
	question, answer func(from, to netip.Addr) []byte // behind the IP header, or what a socket is given
}

// udpLitePort is both ends' (IANA: 2, 3828: RFC number).
const udpLitePort = 3828

// speakers are the protocols of docs/reference/protocols.md that pass by address, but GRE: see pptp. The kernel that this is
// developed on has sockets of UDP-Lite alone; the others' packets are made here.
func speakers() []speaker {
	here, there := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	inner, innerFar := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	fixed := func(b []byte) func(from, to netip.Addr) []byte { return func(_, _ netip.Addr) []byte { return b } }
	dccp := func(port, farPort uint16, data string) func(from, to netip.Addr) []byte {
		return func(from, to netip.Addr) []byte {
			return packets.NewDCCP(netip.AddrPortFrom(from, port), netip.AddrPortFrom(to, farPort), 2, []byte(data)).Payload
		}
	}
	return []speaker{
		{"6in4", model.SixIn4, fixed(packets.NewEcho(here, there, 6, 1).Network()), fixed(packets.NewEchoReply(there, here, 6, 1).Network())},
		{"IPIP", model.IPIP, fixed(packets.NewEcho(inner, innerFar, 4, 1).Network()), fixed(packets.NewEchoReply(innerFar, inner, 4, 1).Network())},
		{"ESP", model.ESP, fixed(esp(0x1001, "sealed, as nobody on the way can read")), fixed(esp(0x2002, "an answer, sealed as well"))},
		{"SCTP", model.SCTP, fixed(sctp(40000, 5060, 0, 1, nil)), fixed(sctp(5060, 40000, sctpTag, 2, []byte{0, 7, 0, 8, 'c', 'o', 'o', 'k'}))},
		{"UDP-Lite", model.UDPLite, fixed([]byte("half of this is covered")), fixed([]byte("and of this"))},
		{"DCCP", model.DCCP, dccp(40000, 5001, "request of some length"), dccp(5001, 40000, "response of the same!!")},
	}
}

// esp is a packet of it (RFC 4303 section 2), whose sealed part nobody opens.
func esp(index uint32, sealed string) []byte {
	return append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, index), 1), sealed...)
}

// sctpTag is the tag of who begins, and therefore that of the answer.
const sctpTag = 0x5c7b0001

// sctp is a packet with INIT or INIT ACK (RFC 9260 sections 3.1 to 3.3.3) and its CRC32c, which covers no address.
func sctp(source, destination uint16, tag uint32, chunk byte, more []byte) []byte {
	b := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, source), destination)
	b = append(binary.BigEndian.AppendUint32(b, tag), 0, 0, 0, 0, chunk, 0, 0, byte(20+len(more)))
	b = binary.BigEndian.AppendUint32(b, sctpTag)
	b = append(b, 0, 1, 0, 0, 0, 10, 0, 10, 0, 0, 0, 1) // window, streams each way, first number
	b = append(b, more...)                              // of INIT ACK: the cookie
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// open opens a socket for it at a node: raw, or the kernel's UDP-Lite, which covers a part of what it sends (RFC 3828).
func (s speaker) open(at netns.Node) (net.PacketConn, error) {
	var connection net.PacketConn
	err := at.Do(func() (err error) {
		if s.protocol != model.UDPLite {
			connection, err = net.ListenPacket(fmt.Sprintf("ip4:%d", s.protocol), at.IP.String())
			return err
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_UDPLITE)
		if err != nil {
			return fmt.Errorf("UDP-Lite: %w", err)
		}
		file := os.NewFile(uintptr(fd), "udplite")
		defer file.Close()             // the connection has its own
		const coverage, header = 10, 8 // UDPLITE_SEND_CSCOV
		err = errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_UDPLITE, coverage, header+10),
			unix.Bind(fd, &unix.SockaddrInet4{Addr: at.IP.As4(), Port: udpLitePort}))
		if err == nil {
			connection, err = net.FilePacketConn(file)
		}
		return err
	})
	return connection, err
}

// address is a node as the socket has it.
func (s speaker) address(of netip.Addr) net.Addr {
	if s.protocol == model.UDPLite {
		return net.UDPAddrFromAddrPort(netip.AddrPortFrom(of, udpLitePort))
	}
	return &net.IPAddr{IP: of.AsSlice()}
}

// addressOf is whom a socket heard.
func addressOf(from net.Addr) netip.Addr {
	if udp, ok := from.(*net.UDPAddr); ok {
		return udp.AddrPort().Addr().Unmap()
	}
	a, _ := netip.AddrFromSlice(from.(*net.IPAddr).IP)
	return a.Unmap()
}

// serve answers the question, from wherever it comes, if it has come as it was sent: sums and all.
func (s speaker) serve(t *testing.T, at netns.Node) {
	t.Helper()
	socket, err := s.open(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	go func() {
		buffer := make([]byte, 2048)
		for {
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			if source := addressOf(from); bytes.Equal(buffer[:n], s.question(source, at.IP)) {
				_, _ = socket.WriteTo(s.answer(at.IP, source), from) // lost, as on a link
			}
		}
	}()
}

// ask asks until the answer comes as it was sent.
func (s speaker) ask(ctx context.Context, from netns.Node, to netip.Addr) error {
	socket, err := s.open(from)
	if err != nil {
		return err
	}
	defer socket.Close()
	buffer, heard := make([]byte, 2048), ""
	for ctx.Err() == nil {
		if _, err := socket.WriteTo(s.question(from.IP, to), s.address(to)); err != nil {
			return err
		}
		_ = socket.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		for {
			n, _, err := socket.ReadFrom(buffer)
			if err != nil {
				break // it asks again
			}
			if bytes.Equal(buffer[:n], s.answer(to, from.IP)) {
				return nil
			}
			heard = fmt.Sprintf("; it heard %x", buffer[:n])
		}
	}
	return fmt.Errorf("no answer from %s%s", to, heard)
}

// Protocols without ports, out and in by an address that is a host's alone, with real packets over real links: all pass
// through Realmgate. The kernel's NAT with its helper for PPTP stands in the same place: what passes there is logged.
func TestProtocolsBesideTheKernel(t *testing.T) {
	t.Parallel()
	options := defaultOffloads
	options.Hosts, options.Clients, options.Servers = 2, 1, 1
	r := newRealm(t, options)
	host, own, client, server := r.Hosts()[0], r.Hosts()[1], r.Clients[0], r.Servers[0]
	alone := r.Gateway.Pool.Addr().Prev() // nobody's
	for _, at := range []netns.Node{server, own} {
		for _, s := range speakers() {
			s.serve(t, at)
		}
		pptpServer(t, at)
	}
	ways := []struct {
		name string
		from netns.Node
		to   netip.Addr
	}{
		{"out", host, server.IP},
		{"1:1 from outside", client, alone},
	}
	try := func(patience time.Duration, report func(format string, arguments ...any)) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var running sync.WaitGroup
		for _, way := range ways {
			running.Go(func() {
				if err := pptp(ctx, way.from, way.to); err != nil {
					report("GRE by PPTP, %s: %v", way.name, err)
				}
			})
			for _, s := range speakers() {
				running.Go(func() {
					if err := s.ask(ctx, way.from, way.to); err != nil {
						report("%s, %s: %v", s.name, way.name, err)
					}
				})
			}
		}
		running.Wait()
	}

	d := r.start(strings.Replace(r.configuration(), "address: "+own.IP.String(), fmt.Sprintf("address: %s\n    one_to_one: %s", own.IP, alone), 1))
	try(30*time.Second, t.Errorf)
	seen := map[string]int{}
	for _, s := range d.sessions() {
		if s.Protocol.ByAddress() {
			seen[fmt.Sprintf("%s from %s by %s", s.Origin, s.Private.Addr(), s.External.Addr())]++
		}
	}
	for _, want := range []string{
		fmt.Sprintf("basic from %s by %s", host.IP, r.Gateway.Outbound), fmt.Sprintf("own_in from %s by %s", own.IP, alone),
	} {
		if all := len(speakers()) + 1; seen[want] != all || len(seen) != len(ways) {
			t.Errorf("sessions are %v, not %d of %q", seen, all, want)
		}
	}
	d.stop()

	r.command("gateway", "sysctl", "-qw", "net.ipv4.ip_forward=1")
	r.command("gateway", "ip", "address", "add", alone.String()+"/32", "dev", "eth0")
	nft := r.Gateway.Command(t.Context(), "nft", "-f", "-")
	nft.Stdin = strings.NewReader(fmt.Sprintf(`table ip nat {
  ct helper pptp { type "pptp" protocol tcp; }
  chain helpers { type filter hook prerouting priority filter; tcp dport 1723 ct helper set "pptp"; }
  chain out { type nat hook postrouting priority srcnat; oifname eth0 ip saddr %[1]s snat to %[2]s; oifname eth0 masquerade; }
  chain in { type nat hook prerouting priority dstnat; ip daddr %[2]s dnat to %[1]s; }
}`, own.IP, alone))
	if out, err := nft.CombinedOutput(); err != nil {
		t.Fatalf("nft: %v: %s", err, out)
	}
	failed := 0
	var one sync.Mutex
	try(5*time.Second, func(format string, arguments ...any) {
		one.Lock()
		defer one.Unlock()
		failed++
		t.Logf("the kernel's NAT: "+format, arguments...)
	})
	t.Logf("the kernel's NAT passed %d of %d", len(ways)*(len(speakers())+1)-failed, len(ways)*(len(speakers())+1))
}
