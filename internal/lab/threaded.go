package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The netdev family of generic netlink (Documentation/netlink/specs/netdev.yaml).
const (
	netdevFamily  = "netdev"
	netdevNAPIGet = 11
	napiIfindex   = 1
	napiPID       = 4
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
func (n *Namespace) ThreadNAPI(ifname string, cpu, priority int) error {
	fail := func(err error) error {
		return fmt.Errorf("receive on %s in %s by threads on CPU %d: %w", ifname, n.name, cpu, err)
	}
	// A CPU's number beyond these is ignored in silence by Set.
	if cpu < AnyCPU || cpu >= runtime.NumCPU() {
		return fail(fmt.Errorf("this machine has %d CPUs", runtime.NumCPU()))
	}
	if err := n.setThreaded(ifname); err != nil {
		return fail(err)
	}
	pids, err := n.napiThreads(ifname)
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
func (n *Namespace) setThreaded(ifname string) error {
	return n.Do(func() error {
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

// napiThreads returns the process ids of an interface's receiving threads. Their
// names do not tell the namespace, but the kernel does.
func (n *Namespace) napiThreads(ifname string) (pids []int, err error) {
	err = n.withLink(ifname, func(link netlink.Link) error {
		family, err := netlink.GenlFamilyGet(netdevFamily)
		if err != nil {
			return fmt.Errorf("find the netlink family %s, which Linux 6.8 has: %w", netdevFamily, err)
		}
		request := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_DUMP)
		// The library's header lacks the two reserved octets, which it sends all
		// the same and which must be 0.
		header := struct {
			nl.Genlmsg
			_ uint16
		}{Genlmsg: nl.Genlmsg{Command: netdevNAPIGet, Version: 1}}
		request.AddData(&header.Genlmsg)
		request.AddData(nl.NewRtAttr(napiIfindex, nl.Uint32Attr(uint32(link.Attrs().Index))))
		messages, err := dump(unix.NETLINK_GENERIC, request)
		if err != nil {
			return fmt.Errorf("list its queues: %w", err)
		}
		for _, message := range messages {
			attributes, err := nl.ParseRouteAttr(message.Data[nl.SizeofGenlmsg:])
			if err != nil {
				return fmt.Errorf("list its queues: %w", err)
			}
			for _, attribute := range attributes {
				if attribute.Attr.Type == napiPID {
					pids = append(pids, int(nl.NativeEndian().Uint32(attribute.Value)))
				}
			}
		}
		return nil
	})
	return pids, err
}

// dump returns all answers to a request. The library's own call takes only the
// first where the kernel does not mark them as several, as this family's are not.
func dump(protocol int, request *nl.NetlinkRequest) (answers []syscall.NetlinkMessage, err error) {
	socket, err := nl.Subscribe(protocol)
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	if err := errors.Join(socket.SetReceiveTimeout(&unix.Timeval{Sec: 5}), socket.Send(request)); err != nil {
		return nil, err
	}
	for {
		messages, _, err := socket.Receive()
		if err != nil {
			return nil, err
		}
		for _, message := range messages {
			switch message.Header.Type {
			case unix.NLMSG_DONE:
				return answers, nil
			case unix.NLMSG_ERROR:
				return nil, unix.Errno(-int32(nl.NativeEndian().Uint32(message.Data)))
			}
			answers = append(answers, message)
		}
	}
}
