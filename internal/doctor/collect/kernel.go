package collect

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/doctor"
)

func kernel() (k doctor.Kernel) {
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		k.Release = unix.ByteSliceToString(name.Release[:])
	}
	if err := datapath.CheckCapabilities(); err != nil {
		k.Capabilities = err.Error()
	} else {
		k.Lacks = datapath.Lacking()
	}
	k.BPFFS, _ = datapath.Pinned("")
	if text, err := os.ReadFile("/sys/kernel/security/lockdown"); err == nil {
		_, after, _ := strings.Cut(string(text), "[") // none [integrity] confidentiality
		k.Lockdown, _, _ = strings.Cut(after, "]")
	}
	return k
}

// synchronised is what systemd-timesyncd makes when it has set the clock. The kernel forgets that after some hours without it.
const synchronised = "/run/systemd/timesync/synchronized"

func clock() doctor.Clock {
	state, err := unix.Adjtimex(&unix.Timex{})
	_, set := os.Stat(synchronised)
	return doctor.Clock{Looked: err == nil, Synchronised: err == nil && state != unix.TIME_ERROR || set == nil}
}

// disk looks at a folder, or at the one in which it will be.
func disk(folder string) doctor.Disk {
	d := doctor.Disk{Folder: folder}
	var fs unix.Statfs_t
	for at := folder; ; at = filepath.Dir(at) {
		if unix.Statfs(at, &fs) == nil || at == "/" {
			break
		}
	}
	d.Free, d.Inodes = int64(fs.Bavail)*fs.Bsize, fs.Ffree > 0 || fs.Files == 0 // some have no bound
	d.ReadOnly = fs.Flags&unix.ST_RDONLY != 0
	return d
}

func certificate(file, key string) doctor.Certificate {
	c := doctor.Certificate{File: file}
	pair, err := tls.LoadX509KeyPair(file, key)
	if err != nil {
		c.Error = fmt.Sprintf("read api.certificate %s: %v", file, err)
		return c
	}
	c.Ends = pair.Leaf.NotAfter
	return c
}
