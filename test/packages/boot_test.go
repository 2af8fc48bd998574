package packages

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// What the process that becomes an init is told: the archive of its root, the folder that it is unpacked in, what marks it, and
// the namespaces that it must not be in.
const (
	bootTree    = "REALMGATE_BOOT_TREE"
	bootAt      = "REALMGATE_BOOT_AT"
	bootMark    = "REALMGATE_BOOT_MARK"
	bootOutside = "REALMGATE_BOOT_OUTSIDE"
)

const markFile = "/.realmgate-test"

// namespaces are those that an init must have for itself: else it would empty this machine's /tmp, change its /dev and end its
// processes.
var namespaces = []string{"mnt", "pid", "uts", "ipc", "cgroup", "net"}

// inodes names those of this thread.
func inodes() (string, error) {
	var all []string
	for _, n := range namespaces {
		inode, err := os.Readlink("/proc/thread-self/ns/" + n)
		if err != nil {
			return "", err
		}
		all = append(all, inode)
	}
	return strings.Join(all, " "), nil
}

// boot runs as process 1 of namespaces of its own: it unpacks a tree on a tmpfs, makes it its root, and becomes the tree's init.
func boot(tree string) error {
	runtime.LockOSThread() // the cgroup namespace is this thread's, which becomes the process
	at, mark := os.Getenv(bootAt), os.Getenv(bootMark)
	if os.Getpid() != 1 || at == "" || mark == "" {
		return errors.New("this is no process 1, or nobody said where its root is to be")
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("unshare the cgroups: %w", err)
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"keep mounts inside", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"mount the root", func() error { return unix.Mount("tree", at, "tmpfs", unix.MS_NODEV, "mode=0755,size=2g") }},
		{"unpack the tree", func() error { return unpack(tree, at) }},
		{"mark it", func() error { return os.WriteFile(at+markFile, []byte(mark), 0o600) }},
		{"mount what belongs to a root", func() error { return furnish(at) }},
		{"lock the machine's settings", func() error { return lock(at + "/proc") }},
		{"change the root", func() error { return pivot(at) }},
		{"look whether it is the tree", func() error { return verify(mark) }},
		{"give capabilities away", disarm},
		{"set the name", func() error { return unix.Sethostname([]byte("gateway")) }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return unix.Exec("/sbin/init", []string{"/sbin/init"}, []string{"container=realmgate-test", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"})
}

func unpack(tree, at string) error {
	if out, err := exec.Command("tar", "-x", "-p", "-f", tree, "-C", at).CombinedOutput(); err != nil { //nolint:gosec // our own archive
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// furnish mounts the file systems that an init expects, each new, and devices that are safe.
func furnish(at string) error {
	for _, m := range []struct {
		kind, where string
		flags       uintptr
		data        string
	}{
		{"proc", "/proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"sysfs", "/sys", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_RDONLY, ""},
		{"cgroup2", "/sys/fs/cgroup", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"bpf", "/sys/fs/bpf", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, "mode=0700"},
		{"tmpfs", "/run", unix.MS_NOSUID | unix.MS_NODEV, "mode=0755"},
		{"tmpfs", "/dev", unix.MS_NOSUID, "mode=0755"},
		{"devpts", "/dev/pts", unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"},
		{"tmpfs", "/dev/shm", unix.MS_NOSUID | unix.MS_NODEV, ""},
	} {
		if err := errors.Join(os.MkdirAll(at+m.where, 0o755), unix.Mount(m.kind, at+m.where, m.kind, m.flags, m.data)); err != nil { //nolint:gosec // a system's folders
			return fmt.Errorf("%s: %w", m.where, err)
		}
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		to := filepath.Join(at, "dev", name)
		// Read-only, a device can be written to, and its mode and owner, which are the machine's, cannot be changed.
		if err := errors.Join(os.WriteFile(to, nil, 0o600), readOnly("/dev/"+name, to)); err != nil {
			return fmt.Errorf("/dev/%s: %w", name, err)
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(to, filepath.Join(at, "dev", name)); err != nil {
			return err
		}
	}
	return nil
}

func readOnly(from, at string) error {
	return errors.Join(unix.Mount(from, at, "", unix.MS_BIND, ""), unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
}

// lock makes what belongs to the whole machine read-only. Settings of the network are the namespace's own.
func lock(proc string) error {
	for _, path := range []string{"/sys", "/sysrq-trigger", "/irq", "/bus"} {
		at := proc + path
		if _, err := os.Stat(at); err != nil {
			continue // not in this kernel
		}
		if err := readOnly(at, at); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	at := proc + "/sys/net"
	return errors.Join(unix.Mount(at, at, "", unix.MS_BIND, ""), unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND, ""))
}

func pivot(at string) error {
	const old = "/.old"
	return errors.Join(os.Mkdir(at+old, 0o700), unix.PivotRoot(at, at+old), os.Chdir("/"), unix.Unmount(old, unix.MNT_DETACH), os.Remove(old))
}

// verify refuses every root but the marked tree on a tmpfs, every namespace that is another's, and settings that can be written.
func verify(mark string) error {
	content, err := os.ReadFile(markFile)
	if err != nil || string(content) != mark {
		return errors.Join(fmt.Errorf("the root is not the tree, but has the mark %q", content), err)
	}
	var root unix.Statfs_t
	if err := unix.Statfs("/", &root); err != nil || root.Type != unix.TMPFS_MAGIC {
		return errors.Join(fmt.Errorf("the root is no tmpfs: %x", root.Type), err)
	}
	own, err := inodes()
	if err != nil {
		return err
	}
	outside := strings.Fields(os.Getenv(bootOutside))
	if len(outside) != len(namespaces) {
		return errors.New("nobody said which namespaces are outside")
	}
	for i, inode := range strings.Fields(own) {
		if inode == outside[i] {
			return fmt.Errorf("the namespace %s is not its own", inode)
		}
	}
	if unix.Access("/proc/sys/kernel/hostname", unix.W_OK) == nil || unix.Access("/proc/sysrq-trigger", unix.W_OK) == nil {
		return errors.New("settings of the machine can be written")
	}
	if unix.Access("/proc/sys/net/ipv4/ip_forward", unix.W_OK) != nil {
		return errors.New("settings of the network cannot be written")
	}
	return nil
}

// disarm leaves out what no gateway needs and the machine could be harmed by.
func disarm() error {
	for _, c := range []uintptr{unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_TIME, unix.CAP_SYS_BOOT, unix.CAP_SYSLOG} {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return err
		}
	}
	return nil
}
