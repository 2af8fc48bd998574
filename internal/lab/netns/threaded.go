package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/netdev"
)

// AnyCPU leaves threads where the kernel puts them, and among ordinary processes.
const AnyCPU = -1

// ThreadNAPI makes an interface receive in kernel threads of its own, one for
// each queue, instead of on the CPU that sent, and lets them run on one CPU only
// and there before ordinary processes: while they wait, a queue of 256 packets
// overflows. Among such threads those of higher priority, 1 to 99, go first. It may be
// called again: a driver that has made its queues anew has new threads.
// An interface without receive offload or an XDP program has no queues. It takes
// Linux 6.8.
func (l *links) ThreadNAPI(ifname string, cpu, priority int) error {
	fail := func(err error) error {
		return fmt.Errorf("receive on %s in %s by threads on CPU %d: %w", ifname, l.name, cpu, err)
	}
	// A CPU's number beyond these is ignored in silence by Set.
	if cpu < AnyCPU || cpu >= runtime.NumCPU() {
		return fail(fmt.Errorf("this machine has %d CPUs", runtime.NumCPU()))
	}
	if err := l.setThreaded(ifname); err != nil {
		return fail(err)
	}
	pids, err := l.napiThreads(ifname)
	if err == nil && len(pids) == 0 {
		err = errors.New("the kernel names no thread")
	}
	if err != nil {
		return fail(err)
	}
	if cpu == AnyCPU {
		return nil
	}
	var only unix.CPUSet
	only.Set(cpu)
	for _, pid := range pids {
		if err := unix.SchedSetaffinity(pid, &only); err != nil {
			return fail(fmt.Errorf("pin thread %d: %w", pid, os.NewSyscallError("sched_setaffinity", err)))
		}
		if err := unix.SchedSetAttr(pid, &unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: uint32(priority)}, 0); err != nil {
			return fail(fmt.Errorf("prefer thread %d: %w", pid, os.NewSyscallError("sched_setattr", err)))
		}
	}
	return nil
}

// setThreaded writes the interface's setting. Sysfs shows the interfaces of the
// namespace in which it was mounted, so a thread mounts one for itself.
func (l *links) setThreaded(ifname string) error {
	return l.Do(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return os.NewSyscallError("unshare", err)
		}
		if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
			return os.NewSyscallError("mount", err)
		}
		if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
			return fmt.Errorf("mount sysfs: %w", err)
		}
		return os.WriteFile(filepath.Join("/sys/class/net", ifname, "threaded"), []byte("1"), 0)
	})
}

// napiThreads returns the process ids of an interface's receiving threads.
func (l *links) napiThreads(ifname string) (pids []int, err error) {
	err = l.withLink(ifname, func(link netlink.Link) error {
		pids, err = netdev.NAPIThreads(link.Attrs().Index)
		return err
	})
	return pids, err
}
