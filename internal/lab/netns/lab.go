package netns

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrNotRoot says that a lab needs root. ErrClosed is what a lab returns after
// Close.
var (
	ErrNotRoot = errors.New("a lab needs root: run it with sudo")
	ErrClosed  = errors.New("the lab is closed")
)

// namePrefix begins the names of all namespaces and records of all labs.
const namePrefix = "rg-"

// namespaceDirectory is where iproute2 looks for namespaces.
const namespaceDirectory = "/run/netns"

var (
	validPrefix = regexp.MustCompile(`^[a-z0-9]{1,32}$`)
	validName   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
)

// Lab is a set of namespaces and of the processes in them.
type Lab struct {
	id     string
	kept   bool
	record *record

	mutex      sync.Mutex
	closed     bool
	closing    sync.Once
	closeError error
	namespaces map[string]*Namespace
	running    map[*Command]struct{}
}

// Option changes what New makes.
type Option func(*Lab)

// Keep makes a lab that outlives this process, for a person to look around:
// its processes are not killed with their parent, and Sweep leaves it. Close
// still removes it, and so does Remove in another process. Processes meant to
// live on must not write into pipes of this one.
func Keep() Option { return func(l *Lab) { l.kept = true } }

// New makes an empty lab, after a Sweep. prefix names its purpose in one word
// of 1 to 32 lower-case letters and digits. Without root it returns ErrNotRoot.
func New(prefix string, options ...Option) (*Lab, error) {
	if !validPrefix.MatchString(prefix) {
		return nil, fmt.Errorf("lab prefix %q: use 1 to 32 lower-case letters and digits", prefix)
	}
	if os.Geteuid() != 0 {
		return nil, ErrNotRoot
	}
	_ = Sweep() // what could not be removed now is tried again by the next lab
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	l := &Lab{
		id:         namePrefix + prefix + "-" + hex.EncodeToString(random[:]),
		namespaces: map[string]*Namespace{},
		running:    map[*Command]struct{}{},
	}
	for _, option := range options {
		option(l)
	}
	if err := prepareNamespaceDirectory(); err != nil {
		return nil, err
	}
	var err error
	if l.record, err = newRecord(l.id, l.kept); err != nil {
		return nil, err
	}
	return l, nil
}

// ID returns the lab's name on this machine, as rg-demo-1a2b3c4d. Its
// namespaces are called ID-NAME.
func (l *Lab) ID() string { return l.id }

// Close kills the processes in the lab and removes it. It may be called more
// than once, and returns the same each time.
func (l *Lab) Close() error {
	l.closing.Do(func() { l.closeError = l.close() })
	return l.closeError
}

func (l *Lab) close() error {
	l.mutex.Lock()
	l.closed = true
	var inodes []inode
	for _, n := range l.namespaces {
		inodes = append(inodes, n.inode)
	}
	var commands []*Command
	for c := range l.running {
		commands = append(commands, c)
	}
	l.mutex.Unlock()

	var failed error
	for _, c := range commands {
		_ = c.Process.Kill() // it may have ended by itself
	}
	failed = errors.Join(failed, killInside(inodes))
	for _, c := range commands {
		_ = c.Wait() // killed, as we asked
	}
	for _, n := range l.namespaces {
		failed = errors.Join(failed, n.close())
	}
	if failed != nil {
		// The record stays for the next sweep, which can take its lock.
		return errors.Join(fmt.Errorf("close lab %s: %w", l.id, failed), l.record.release())
	}
	return l.record.remove()
}

// prepareNamespaceDirectory makes /run/netns a shared mount as iproute2 does
// before its first namespace. If it came later with its own, our mounts would
// lie below and could no longer be unmounted by name.
func prepareNamespaceDirectory() error {
	fail := func(err error) error { return fmt.Errorf("prepare %s: %w", namespaceDirectory, err) }
	if err := os.MkdirAll(namespaceDirectory, 0o755); err != nil {
		return fail(err)
	}
	directory, err := os.Open(namespaceDirectory)
	if err != nil {
		return fail(err)
	}
	defer directory.Close()
	// iproute2 takes the same lock.
	if err := unix.Flock(int(directory.Fd()), unix.LOCK_EX); err != nil {
		return fail(err)
	}
	err = unix.Mount("", namespaceDirectory, "none", unix.MS_SHARED|unix.MS_REC, "")
	if !errors.Is(err, unix.EINVAL) { // EINVAL: not a mount point
		if err != nil {
			return fail(err)
		}
		return nil
	}
	if err := unix.Mount(namespaceDirectory, namespaceDirectory, "none", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fail(err)
	}
	if err := unix.Mount("", namespaceDirectory, "none", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return fail(err)
	}
	return nil
}
