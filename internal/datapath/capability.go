package datapath

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// capabilities are what loading and attaching programs takes (capabilities(7)). Who has CAP_SYS_ADMIN may do what the two
// that came out of it do (Linux 5.8).
var capabilities = []struct {
	name   string
	number uint
	admin  bool
}{{"CAP_BPF", unix.CAP_BPF, true}, {"CAP_PERFMON", unix.CAP_PERFMON, true}, {"CAP_NET_ADMIN", unix.CAP_NET_ADMIN, false}}

// CheckCapabilities says in an error which capabilities this process lacks for a data plane.
func CheckCapabilities() error {
	var sets [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &sets[0]); err != nil {
		return fmt.Errorf("read the capabilities of this process: %w", err)
	}
	if lacking := lacking(uint64(sets[1].Effective)<<32 | uint64(sets[0].Effective)); len(lacking) > 0 {
		return fmt.Errorf("the data plane needs %s: run as root, or as a user who is given what is missing", strings.Join(lacking, " and "))
	}
	return nil
}

func lacking(effective uint64) (names []string) {
	for _, c := range capabilities {
		if effective>>c.number&1 == 0 && (!c.admin || effective>>unix.CAP_SYS_ADMIN&1 == 0) {
			names = append(names, c.name)
		}
	}
	return names
}
