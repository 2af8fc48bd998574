package tenants

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A gateway without the right to read root's files, as the packaged one, names no fault where iptables-legacy has rules: nothing
// is known to be wrong. What it reads by its capabilities, it tells.
func TestWhatOnlyRootMayReadIsNoFault(t *testing.T) {
	b := newBed(t)
	if exec.Command("iptables-legacy", "-L").Run() != nil {
		t.Skip("this kernel has no iptables (legacy)")
	}
	b.run(`iptables-legacy -P FORWARD DROP
		nft add table ip nat
		nft add chain ip nat post '{ type nat hook postrouting priority 100; }'
		nft add rule ip nat post oifname eth0 masquerade`)
	var f Findings
	err := b.namespace.Do(func() error { // a thread of its own, which ends with it
		_, _, failed := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0)
		if failed != 0 {
			return failed
		}
		const nobody = 65534
		if err := errors.Join(unix.Setfsgid(nobody), unix.Setfsuid(nobody)); err != nil {
			return err
		}
		f = Find(&b.setup)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Rules) != 1 || !strings.Contains(f.Rules[0], "chain post of table ip nat of nftables translates again") || len(f.Failed) > 0 {
		t.Errorf("%+v", f)
	}
	if len(f.Denied) != 1 || f.Denied[0] != "the rules of iptables-legacy" {
		t.Errorf("not looked at: %q", f.Denied)
	}
}
