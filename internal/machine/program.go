package machine

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

// Program names the program that waits for strangers at an address of the machine's own, as was seen last, as nginx (process
// 812); "" where it is not known: who may not see others' processes sees none. It looks through all processes.
func (m *Machine) Program(p model.Protocol, at netip.AddrPort) string {
	s, listens := m.listener(p, at)
	if !listens || s.inode == "" || s.inode == "0" {
		return ""
	}
	return programOf("/proc", s.inode)
}

// programOf names the first process that has a socket.
func programOf(proc, inode string) string {
	files, _ := filepath.Glob(proc + "/[0-9]*/fd/*") // the pattern is right
	for _, file := range files {
		if to, err := os.Readlink(file); err != nil || to != "socket:["+inode+"]" {
			continue
		}
		process := filepath.Dir(filepath.Dir(file))
		name, err := os.ReadFile(filepath.Join(process, "comm"))
		if err != nil {
			continue // it has just ended
		}
		return fmt.Sprintf("%s (process %s)", strings.TrimSpace(string(name)), filepath.Base(process))
	}
	return ""
}
