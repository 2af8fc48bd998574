package machine

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

// socket is one at which a program waits for strangers.
type socket struct {
	at    netip.AddrPort
	inode string // by which its program is found, "" where the kernel does not say
}

// sockets are those by protocol and port.
type sockets map[model.Port][]socket

// find finds one that hears what comes to an address.
func (s sockets) find(p model.Protocol, at netip.AddrPort) (found socket, ok bool) {
	list := s[model.Port{Protocol: p, Port: at.Port()}]
	i := slices.IndexFunc(list, func(s socket) bool { return s.at.Addr().IsUnspecified() || s.at == at })
	if i < 0 {
		return socket{}, false
	}
	return list[i], true
}

// The kernel's tables of sockets, and the state of those that wait.
var socketTables = []struct {
	name     string
	protocol model.Protocol
	waits    string
}{{"tcp", model.TCP, "0A"}, {"tcp6", model.TCP, "0A"}, {"udp", model.UDP, "07"}, {"udp6", model.UDP, "07"}}

// ForgetSockets is for when nobody asks for them.
func (m *Machine) ForgetSockets() { m.sockets.Store(nil) }

// Listens reports whether a program waits for strangers at an address of the machine's own, as was seen last.
func (m *Machine) Listens(p model.Protocol, at netip.AddrPort) bool {
	_, listens := m.listener(p, at)
	return listens
}

func (m *Machine) listener(p model.Protocol, at netip.AddrPort) (socket, bool) {
	s := m.sockets.Load()
	if s == nil || !m.Owns(at.Addr()) {
		return socket{}, false
	}
	return s.find(p, at)
}

// LookAtSockets learns what programs listen at.
func (m *Machine) LookAtSockets() error {
	first, last, err := ephemeralPorts()
	if err != nil {
		return err
	}
	found := sockets{}
	err = eachWaiting(func(p model.Protocol, s socket) {
		// A resolver's socket for one question, say, is gone in a moment.
		if passing := p == model.UDP && first <= s.at.Port() && s.at.Port() <= last; !passing {
			key := model.Port{Protocol: p, Port: s.at.Port()}
			found[key] = append(found[key], s)
		}
	})
	if err != nil {
		return err
	}
	m.sockets.Store(&found)
	return nil
}

// ephemeralPorts are those that the kernel gives to sockets that ask for none.
func ephemeralPorts() (first, last uint16, err error) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, 0, fmt.Errorf("read the kernel's port range: %w", err)
	}
	if _, err := fmt.Sscan(string(text), &first, &last); err != nil {
		return 0, 0, fmt.Errorf("read the kernel's port range %q: %w", text, err)
	}
	return first, last, nil
}

// eachWaiting visits all sockets at which programs wait for strangers.
func eachWaiting(visit func(model.Protocol, socket)) error {
	for _, t := range socketTables {
		table, err := os.Open("/proc/thread-self/net/" + t.name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return fmt.Errorf("read the sockets that listen: %w", err)
		}
		err = waiting(table, t.waits, func(s socket) { visit(t.protocol, s) })
		_ = table.Close() // only read: nothing can be lost
		if err != nil {
			return err
		}
	}
	return nil
}

// waiting visits the sockets of a table of the kernel as /proc/net/tcp that are in a state: the second column is the
// local address and port, the fourth the state, the tenth the socket's inode.
func waiting(table io.Reader, state string, visit func(socket)) error {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		columns := strings.Fields(lines.Text())
		if len(columns) < 4 || columns[3] != state {
			continue
		}
		at, err := socketAddress(columns[1])
		if err != nil {
			return fmt.Errorf("read the sockets that listen: %q is no address", columns[1])
		}
		s := socket{at: at}
		if len(columns) > 9 {
			s.inode = columns[9]
		}
		visit(s)
	}
	return lines.Err()
}

// socketAddress reads an address whose words are in the machine's order.
func socketAddress(text string) (netip.AddrPort, error) {
	address, number, _ := strings.Cut(text, ":")
	port, err := strconv.ParseUint(number, 16, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	octets, err := hex.DecodeString(address)
	if err != nil || len(octets)%4 > 0 {
		return netip.AddrPort{}, errors.Join(err, fs.ErrInvalid)
	}
	for word := octets; len(word) > 0; word = word[4:] {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	a, ok := netip.AddrFromSlice(octets)
	if !ok {
		return netip.AddrPort{}, fs.ErrInvalid
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(port)), nil
}

// ListeningTCP are the TCP ports at which programs listen, wherever.
func ListeningTCP() (map[uint16]bool, error) {
	ports := map[uint16]bool{}
	err := eachWaiting(func(p model.Protocol, s socket) {
		if p == model.TCP {
			ports[s.at.Port()] = true
		}
	})
	return ports, err
}
