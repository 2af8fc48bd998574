package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// question is a DNS query for a service's address.
func question(id uint16, name string) []byte {
	message := []byte{byte(id >> 8), byte(id), 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		message = append(append(message, byte(len(label))), label...)
	}
	return append(message, 0, 0, 1, 0, 1)
}

// asker is a socket of one requester.
type asker struct {
	socket *net.UDPConn
	buffer [512]byte
	id     uint16
}

func (a *allocation) asker(b *testing.B, from netip.Addr) *asker {
	b.Helper()
	connection, err := a.realm.Clients[0].DialFrom(context.Background(), "udp4", netip.AddrPortFrom(from, 0), "198.18.0.1:53")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = connection.Close() })
	return &asker{socket: connection.(*net.UDPConn)}
}

// ask returns the address lent for a name; ok is false where none was.
func (k *asker) ask(name string) (address [4]byte, ok bool, err error) {
	k.id++
	if _, err := k.socket.Write(question(k.id, name)); err != nil {
		return address, false, err
	}
	_ = k.socket.SetReadDeadline(time.Now().Add(2 * time.Second))
	for {
		n, err := k.socket.Read(k.buffer[:])
		if err != nil {
			return address, false, fmt.Errorf("ask for %s: %w", name, err)
		}
		if n < 12 || binary.BigEndian.Uint16(k.buffer[:]) != k.id {
			continue // a late answer
		}
		if binary.BigEndian.Uint16(k.buffer[6:]) != 1 {
			return address, false, nil
		}
		return [4]byte(k.buffer[n-4 : n]), true, nil // the A record ends the message
	}
}

// firstPackets sends datagrams with any source, through one raw socket.
type firstPackets struct{ fd int }

func (a *allocation) firstPackets(b *testing.B) *firstPackets {
	b.Helper()
	f := &firstPackets{}
	err := a.realm.Clients[0].Do(func() (err error) {
		f.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = unix.Close(f.fd) })
	return f
}

// send sends number from an endpoint of its own, so that no two flows to one
// service are the same (I8). Its UDP checksum is zero: none.
func (f *firstPackets) send(number uint64, to [4]byte, port uint16) error {
	var p [36]byte
	p[0], p[3], p[8], p[9] = 0x45, 36, 64, unix.IPPROTO_UDP
	copy(p[12:], []byte{198, 19, 128 | byte(number>>22&0x7f), byte(number >> 14)})
	copy(p[16:], to[:])
	binary.BigEndian.PutUint16(p[20:], 2048+uint16(number&0x3fff))
	binary.BigEndian.PutUint16(p[22:], port)
	binary.BigEndian.PutUint16(p[24:], 16)
	binary.BigEndian.PutUint64(p[28:], number)
	return unix.Sendto(f.fd, p[:], 0, &unix.SockaddrInet4{Addr: to})
}
