package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Namespace is a network namespace of a lab. It is born with its loopback up,
// IPv4 forwarding and reverse-path filtering off, and IPv6 off, whatever the
// machine's own settings are.
type Namespace struct {
	*place
	*links
	*sockets

	lab *Lab

	keeperOnce  sync.Once
	keeper      *keeper
	keeperError error
}

// place is where a namespace is.
type place struct {
	name  string // without the lab's id
	path  string
	inode inode
	file  *os.File // holds the namespace
}

// links are what is done to a namespace's interfaces.
type links struct{ *place }

// sockets are made in a namespace.
type sockets struct{ *place }

// Namespace makes a namespace. name is 1 to 64 lower-case letters, digits and
// hyphens, unique in the lab.
func (l *Lab) Namespace(name string) (*Namespace, error) {
	if !validName.MatchString(name) {
		return nil, fmt.Errorf("namespace name %q: use lower-case letters, digits and hyphens", name)
	}
	// Held throughout, so that Close sees every namespace that there is.
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if l.namespaces[name] != nil {
		return nil, fmt.Errorf("namespace %s: it exists already in lab %s", name, l.id)
	}
	p := &place{name: name, path: filepath.Join(namespaceDirectory, l.id+"-"+name)}
	n := &Namespace{place: p, links: &links{p}, sockets: &sockets{p}, lab: l}
	if err := n.create(); err != nil {
		return nil, errors.Join(fmt.Errorf("make namespace %s: %w", name, err), n.close())
	}
	l.namespaces[name] = n
	return n, nil
}

// create makes the namespace on a thread of its own and gives it its name.
func (n *Namespace) create() error {
	mountpoint, err := os.OpenFile(n.path, os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	mountpoint.Close()
	done := make(chan error, 1)
	onOwnThread(func() { done <- n.unshare() })
	if err := <-done; err != nil {
		return err
	}
	for _, setting := range [][2]string{
		{"net/ipv4/ip_forward", "0"},
		{"net/ipv4/conf/all/rp_filter", "0"},
		{"net/ipv4/conf/default/rp_filter", "0"},
	} {
		if err := n.SetSysctl(setting[0], setting[1]); err != nil {
			return err
		}
	}
	if err := n.EnableIPv6(false); err != nil {
		return err
	}
	return n.Up("lo")
}

// unshare runs on a thread that ends after it.
func (n *Namespace) unshare() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	const here = "/proc/thread-self/ns/net"
	if err := unix.Mount(here, n.path, "none", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", n.path, err)
	}
	file, err := os.Open(here)
	if err != nil {
		return err
	}
	n.file = file
	n.inode, err = inodeOf(here)
	return err
}

// close removes the namespace. What runs in it must have ended.
func (n *Namespace) close() error {
	if n.keeper != nil {
		n.keeper.stop()
	}
	err := removeName(n.path)
	if n.file != nil {
		err = errors.Join(err, n.file.Close())
	}
	return err
}

// Name returns the name that "ip netns" knows: the lab's id and the name given.
func (p *place) Name() string { return filepath.Base(p.path) }

// Path returns the file that names the namespace.
func (p *place) Path() string { return p.path }

// Do runs f inside the namespace, on a thread of its own, and returns its
// error. Sockets that f opens stay in the namespace, and the functions of the
// netlink library act on it; goroutines that f starts do not run in it. A panic
// of f goes on in the caller. After the lab's Close, Do returns an error and
// does not call f.
func (p *place) Do(f func() error) error { return inside(p.file, f) }

// SetSysctl writes a setting of the namespace; key is its path below /proc/sys,
// as "net/ipv4/ip_forward".
func (p *place) SetSysctl(key, value string) error {
	return p.Do(func() error {
		// The file belongs to the namespace of the thread that opens it.
		return os.WriteFile(filepath.Join("/proc/sys", key), []byte(value), 0)
	})
}

// Sysctl reads a setting of the namespace, without the final newline.
func (p *place) Sysctl(key string) (value string, err error) {
	err = p.Do(func() error {
		text, err := os.ReadFile(filepath.Join("/proc/sys", key))
		if len(text) > 0 {
			value = string(text[:len(text)-1])
		}
		return err
	})
	return value, err
}

// EnableIPv6 turns IPv6 on or off on all links, present and future. Addresses
// are usable at once: there is no duplicate address detection. On a kernel
// without IPv6, turning it off does nothing.
func (p *place) EnableIPv6(on bool) error {
	value := "1"
	if on {
		value = "0"
	}
	for _, which := range []string{"all", "default"} {
		directory := "net/ipv6/conf/" + which + "/"
		err := p.SetSysctl(directory+"disable_ipv6", value)
		if errors.Is(err, os.ErrNotExist) && !on {
			return nil
		}
		if err == nil {
			err = p.SetSysctl(directory+"accept_dad", "0")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
