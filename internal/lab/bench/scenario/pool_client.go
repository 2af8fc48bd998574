package scenario

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

const (
	nameServerPort = 53
	answerWithin   = 2 * time.Second
	mostClaims     = 1 << 20 // in one trial
	claimOctets    = 8
)

// poolClient asks from outside for names, sends the first packets, and takes the
// time when they arrive inside.
type poolClient struct {
	rig     *bench.Rig
	pool    bench.Pool
	sockets []net.PacketConn // of the services
	began   time.Time
	arrived []atomic.Int64 // by claim, ns since began
	number  atomic.Uint64  // of claims so far: each is from an endpoint of its own
	askers  int            // addresses that asked for reservations to leave standing
}

// open listens on every service's port inside.
func (c *poolClient) open(rig *bench.Rig) error {
	c.rig = rig
	for service := range c.pool.Services {
		socket, err := rig.Inside.ListenPacket("udp4", fmt.Sprintf("0.0.0.0:%d", c.pool.Port(service)))
		if err != nil {
			return fmt.Errorf("listen for first packets: %w", err)
		}
		c.sockets = append(c.sockets, socket)
		go c.listen(socket)
	}
	return nil
}

func (c *poolClient) listen(socket net.PacketConn) {
	buffer := make([]byte, 64)
	for {
		n, _, err := socket.ReadFrom(buffer)
		if err != nil {
			return // closed
		}
		if n == claimOctets {
			claim := binary.BigEndian.Uint64(buffer)
			c.arrived[claim%mostClaims].Store(int64(time.Since(c.began)))
		}
	}
}

func (c *poolClient) close() (err error) {
	for _, socket := range c.sockets {
		err = errors.Join(err, socket.Close())
	}
	c.sockets = nil
	return err
}

// asker is one address that asks, and claims what it was lent.
type asker struct {
	*poolClient
	questions *dns.Conn
	claims    int // a raw socket
}

// asker asks from an address of the outside network; the one named by number.
func (c *poolClient) asker(ctx context.Context, number int) (*asker, error) {
	fail := func(err error) (*asker, error) { return nil, fmt.Errorf("open a socket outside: %w", err) }
	from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 19, byte(1 + number>>8), byte(number)}), 0)
	server := netip.AddrPortFrom(bench.PublicAddress.Addr(), nameServerPort)
	connection, err := c.rig.Outside.DialFrom(ctx, "udp4", from, server.String())
	if err != nil {
		return fail(err)
	}
	a := &asker{poolClient: c, questions: &dns.Conn{Conn: connection}}
	err = c.rig.Outside.Do(func() error {
		a.claims, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
		return os.NewSyscallError("socket", err)
	})
	if err != nil {
		return fail(errors.Join(err, connection.Close()))
	}
	return a, nil
}

func (a *asker) close() error { return errors.Join(a.questions.Close(), unix.Close(a.claims)) }

var errNotLent = errors.New("no address was lent")

// ask returns the address that is lent for service n.
func (a *asker) ask(n int) (netip.Addr, error) {
	question := new(dns.Msg).SetQuestion(a.pool.Name(n), dns.TypeA)
	if err := a.questions.SetDeadline(time.Now().Add(answerWithin)); err != nil {
		return netip.Addr{}, err
	}
	if err := a.questions.WriteMsg(question); err != nil {
		return netip.Addr{}, fmt.Errorf("ask for %s: %w", a.pool.Name(n), err)
	}
	for {
		answer, err := a.questions.ReadMsg()
		if err != nil {
			return netip.Addr{}, fmt.Errorf("ask for %s: %w", a.pool.Name(n), err)
		}
		if answer.Id != question.Id {
			continue // a late answer
		}
		if len(answer.Answer) == 1 {
			if record, ok := answer.Answer[0].(*dns.A); ok {
				address, _ := netip.AddrFromSlice(record.A.To4())
				return address, nil
			}
		}
		return netip.Addr{}, fmt.Errorf("ask for %s: %s: %w", a.pool.Name(n), dns.RcodeToString[answer.Rcode], errNotLent)
	}
}

// claim sends a first packet to service n, from an endpoint that no other claim
// has, and returns the claim's number. Its UDP checksum is zero: none.
func (a *asker) claim(n int, lent netip.Addr) (uint64, error) {
	number := a.number.Add(1)
	to := lent.As4()
	var p [28 + claimOctets]byte
	p[0], p[3], p[8], p[9] = 0x45, byte(len(p)), 64, unix.IPPROTO_UDP
	copy(p[12:], []byte{198, 19, 128 | byte(number>>22&0x7f), byte(number >> 14)})
	copy(p[16:], to[:])
	binary.BigEndian.PutUint16(p[20:], 2048+uint16(number&0x3fff))
	binary.BigEndian.PutUint16(p[22:], a.pool.Port(n))
	binary.BigEndian.PutUint16(p[24:], 8+claimOctets)
	binary.BigEndian.PutUint64(p[28:], number)
	if err := unix.Sendto(a.claims, p[:], 0, &unix.SockaddrInet4{Addr: to}); err != nil {
		return number, fmt.Errorf("send a first packet: %w", os.NewSyscallError("sendto", err))
	}
	return number, nil
}
