package webload

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Site is what clients ask for.
type Site struct {
	Name string
	At   netip.AddrPort // where it is asked for
	Host netip.Addr     // who is to answer
}

// Client is where connections are made from.
type Client struct {
	Do      func(func() error) error // runs a function in the network namespace, on a thread of its own
	Sources []netip.Addr             // local addresses, that connections have in turns
	Sites   []Site                   // that they ask for in turns
}

// wakeEvery is how often a thread looks at its clock.
const wakeEvery = 10 * time.Millisecond

// dialer makes the connections of a thread.
type dialer struct {
	*Client
	hellos [][]byte
	made   int
}

func (c *Client) dialer(want kind) (*dialer, error) {
	d := &dialer{Client: c}
	for _, site := range c.Sites {
		record, err := hello(site.Name, want)
		if err != nil {
			return nil, err
		}
		d.hellos = append(d.hellos, record)
	}
	return d, nil
}

// visit is a connection of a client.
type visit struct {
	fd          int
	site        int
	due         time.Time
	said, heard bool // the hello, and the first of the answer
}

// dial begins a connection to the next site.
func (d *dialer) dial(due time.Time) (*visit, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|nonBlocking, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	v := &visit{fd: fd, site: d.made % len(d.Sites), due: due}
	from, to := d.Sources[d.made%len(d.Sources)], d.Sites[v.site].At
	d.made++
	// The port is chosen when the destination is known: of all addresses together there are enough.
	err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: from.As4()})
	}
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())})
	}
	if err != nil && err != unix.EINPROGRESS { //nolint:errorlint // it is an errno
		_ = unix.Close(fd)
		return nil, fmt.Errorf("connect from %s to %s: %w", from, to, err)
	}
	return v, nil
}

// say sends the hello of a connection that is there, or says why it is not.
func (d *dialer) say(v *visit) error {
	n, err := unix.Write(v.fd, d.hellos[v.site])
	if err == unix.EAGAIN || err == unix.ENOTCONN { //nolint:errorlint // it is an errno
		return nil // not yet
	}
	if err == nil && n < len(d.hellos[v.site]) {
		err = fmt.Errorf("%d of %d octets were taken", n, len(d.hellos[v.site]))
	}
	v.said = err == nil
	return err
}

// hang closes a connection by RST, so that nothing is left of it.
func (v *visit) hang() {
	_ = unix.SetsockoptLinger(v.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	_ = unix.Close(v.fd) // it is gone in any case
}

// onThread runs f on a thread that nothing else uses meanwhile.
func onThread(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return f()
}
