package e2e

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// pings counts all that were sent.
var pings atomic.Uint32

// ping sends one ICMP echo request and waits for its reply.
func ping(from netns.Node, to netip.Addr) error { return pingOf(from, to, 12) }

// pingOf is ping with a message of so many bytes, an even number.
func pingOf(from netns.Node, to netip.Addr, size int) error {
	var connection net.PacketConn
	err := from.Do(func() (err error) {
		connection, err = net.ListenPacket("ip4:icmp", from.IP.String())
		return err
	})
	if err != nil {
		return err
	}
	defer connection.Close()
	identifier := pings.Add(1) // one of two that are alike would be of the other's session
	message := make([]byte, size)
	copy(message, []byte{8, 0, 0, 0, byte(identifier >> 8), byte(identifier), 0, 1, 'p', 'i', 'n', 'g'})
	var sum uint32
	for i := 0; i < len(message); i += 2 {
		sum += uint32(message[i])<<8 | uint32(message[i+1])
	}
	sum = sum>>16 + sum&0xffff
	message[2], message[3] = byte(^sum>>8), byte(^sum)
	if _, err := connection.WriteTo(message, &net.IPAddr{IP: to.AsSlice()}); err != nil {
		return err
	}
	_ = connection.SetReadDeadline(time.Now().Add(4 * time.Second))
	buffer := make([]byte, 1500)
	for {
		n, _, err := connection.ReadFrom(buffer)
		if err != nil {
			return fmt.Errorf("no echo reply from %s: %w", to, err)
		}
		if n == len(message) && buffer[0] == 0 && buffer[5] == message[5] {
			return nil
		}
	}
}

// complaint sends one datagram with a TTL, and returns the type and code of the
// ICMP error that comes back, and who sent it. An empty answer: none came.
func complaint(t *testing.T, from netns.Node, local, to netip.AddrPort, ttl int) string {
	t.Helper()
	frames, err := from.Frames("eth0")
	if err != nil {
		t.Fatal(err)
	}
	defer frames.Close()
	connection, err := from.DialFrom(t.Context(), "udp4", local, to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	raw, err := connection.(*net.UDPConn).SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_TTL, ttl) })
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(awaited[true])
	for {
		frame, err := frames.Receive(deadline)
		if err != nil {
			return ""
		}
		packet, err := packets.Parse(frame)
		if err == nil && packet.ICMP != nil && (packet.ICMP.Type == 3 || packet.ICMP.Type == 11) {
			return fmt.Sprintf("%d/%d from %s", packet.ICMP.Type, packet.ICMP.Code, packet.IPv4.Source)
		}
	}
}

// traceroute sees the gateway from both sides.
func TestTimeExceeded(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1, Servers: 1})
	d := r.start(r.configuration())
	r.echoServers()
	got := complaint(t, r.Hosts()[0], netip.AddrPort{}, netip.AddrPortFrom(r.Servers[0].IP, 33434), 1)
	if wanted := "11/0 from " + r.Gateway.PrivateAddress.String(); got != wanted {
		t.Errorf("inside: %q, not %q", got, wanted)
	}
	connection := r.conversation(r.Clients[0], 0)
	_ = connection.Close()
	got = complaint(t, r.Clients[0], connection.LocalAddr().(*net.UDPAddr).AddrPort(), connection.RemoteAddr().(*net.UDPAddr).AddrPort(), 1)
	if wanted := "11/0 from " + r.Gateway.PublicAddress.String(); got != wanted {
		t.Errorf("outside: %q, not %q", got, wanted)
	}
	if d.counted("drop_ttl_expired") != 2 {
		t.Errorf("drop_ttl_expired %d", d.counted("drop_ttl_expired"))
	}
}

// Paths that carry less than 1,500 octets, at the gateway and behind the
// router: TCP learns it from ICMP and works, both ways, also where SYNs say
// what does not fit.
func TestPathMTU(t *testing.T) {
	t.Parallel()
	for name, narrow := range map[string]func(*realm){
		"the public link":      func(r *realm) { r.command("gateway", "ip", "link", "set", "eth0", "mtu", "1300") },
		"the private link":     func(r *realm) { r.command("gateway", "ip", "link", "set", "eth1", "mtu", "1300") },
		"a link in the public": func(r *realm) { r.command("router", "ip", "link", "set", "servers", "mtu", "1300") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRealm(t, netns.Options{Hosts: 1, Servers: 2})
			narrow(r)
			r.webServers()
			host, server, client := r.Hosts()[0], r.Servers[0], r.Servers[1]
			webServer(t, server, 8080, "server")
			d := r.start(with(r.configuration(), "mss: off"))
			send := func(what string, from netns.Node, to netip.Addr, port int) {
				t.Helper()
				page, err := curl(from, to, port, "--data-binary", "@"+program)
				if err != nil {
					t.Errorf("%s: %q, %v", what, page, err)
				}
			}
			if name != "the private link" { // there the first answer is too large for the link, not for the path
				send("out", host, server.IP, 8080)
			}
			if name != "the public link" {
				send("in", client, r.mustLend(client, "www."+hostName(0)), 80)
			}
			t.Logf("drop_too_big %d", d.counted("drop_too_big"))
		})
	}
}
