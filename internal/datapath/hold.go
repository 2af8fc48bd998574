package datapath

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// hold is a program that is attached to an interface.
type hold interface {
	// ifindex is the interface's, 0 when that is gone.
	ifindex() int
	// keep lets go of it. Where it is pinned it goes on working.
	keep() error
	// remove takes it off.
	remove() error
}

// linked is a program by a link of its own.
type linked struct{ link.Link }

func (h linked) ifindex() int {
	_, ifindex, err := linkOf(h.Link)
	if err != nil {
		return 0
	}
	return ifindex
}

func (h linked) keep() error { return h.Close() }

func (h linked) remove() error {
	_ = h.Detach() // at once: without it the kernel does so a moment after the last one has let go
	_ = h.Unpin()
	return h.Close()
}

// pinned pins a link at a path, if there is one.
func pinned(l link.Link, path string) (hold, error) {
	if path == "" {
		return linked{l}, nil
	}
	if err := l.Pin(path); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return linked{l}, nil
}

// place is where programs take socket buffers: as they come in, or as they leave.
type place struct {
	attach ebpf.AttachType
	parent uint32 // of a filter
	first  bool   // before others' programs, else behind them
	pins   string // how names of pins begin
}

// attachBuffers attaches a program at traffic control and pins it: by a link, or in an old kernel by a filter, in the place of
// an earlier daemon's.
func (d *filterSet) attachBuffers(at place, name string, ifindex int, program *ebpf.Program) (hold, error) {
	if d.old {
		return d.filter(at, name, ifindex, program)
	}
	options := link.TCXOptions{Interface: ifindex, Program: program, Attach: at.attach}
	if at.first {
		options.Anchor = link.Head()
	}
	attached, err := link.AttachTCX(options)
	if err != nil {
		return nil, err
	}
	return pinned(attached, d.pinPath(at.pins+name))
}

// adoptHold takes over the link that an earlier daemon left under a path and that is good. It is
// removed otherwise.
func adoptHold(path string, good func(link.Link) error) (hold, error) {
	old, err := link.LoadPinnedLink(path, nil)
	if err != nil {
		return nil, nil //nolint:nilerr // there is none
	}
	if err := good(old); err != nil {
		_ = linked{old}.remove()
		return nil, err
	}
	return linked{old}, nil
}

// isOld reports whether the kernel has no tcx: before Linux 6.6.
func isOld() bool {
	const loopback = 1
	_, err := link.QueryPrograms(link.QueryOptions{Target: loopback, Attach: ebpf.AttachTCXIngress})
	return errors.Is(err, unix.EINVAL) || errors.Is(err, ebpf.ErrNotSupported)
}
