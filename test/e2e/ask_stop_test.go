package e2e

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// When the daemon stops in good order and leaves the data plane, nobody asks programs: new flows go by the key "fail" at once.
func TestAskWithoutADaemon(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newRealm(t, netns.Options{Hosts: 2, Clients: 1, Servers: 1})
			folder, chains := t.TempDir(), "chains:\n"
			for i, fail := range []string{"open", "closed"} {
				chains += fmt.Sprintf("  - {name: %s, match: {from: %s}, functions: [{use: ask, socket: %s/%[1]s, fail: %[1]s}]}\n", fail, r.Hosts()[i].IP, folder)
				r.asked(filepath.Join(folder, fail), r.byPacket(), "192.0.2.255")
			}
			d := r.prepare(r.Gateway, r.ID(), with(r.configuration(), r.interfacesAt(mode))+chains)
			d.run("--keep-dataplane")
			d.hasPrograms(2)
			for _, host := range r.Hosts()[:2] {
				if err := pingOf(host, r.Servers[0].IP, 92); err != nil {
					t.Errorf("while it is asked: %v", err)
				}
			}
			d.stop()
			if err := pingOf(r.Hosts()[0], r.Servers[0].IP, 92); err != nil {
				t.Errorf("without a daemon, where fail is open: %v", err)
			}
			if err := pingOf(r.Hosts()[1], r.Servers[0].IP, 92); err == nil {
				t.Error("without a daemon, where fail is closed, it passes")
			}
		})
	}
}
