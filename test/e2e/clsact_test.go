package e2e

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// buildWithoutTCX builds the program that attaches as in kernels before 6.6.
var buildWithoutTCX = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(program), "realmgate-without-tcx")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-X github.com/realmgate/realmgate/internal/plane.withoutTCX=yes",
		"-o", path, "../../cmd/realmgate").CombinedOutput()
	if err != nil {
		err = errors.New(string(out))
	}
	return path, err
})

func programWithoutTCX(t *testing.T) string {
	t.Helper()
	path, err := buildWithoutTCX()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// filters counts what stands at clsact of the gateway's interface, by direction.
func (r *realm) filters(ifname string) (in, out int, clsact bool) {
	r.t.Helper()
	count := func(words ...string) int {
		text, err := r.Gateway.Command(r.t.Context(), "tc", words...).CombinedOutput()
		if err != nil { // there is no clsact
			return 0
		}
		return strings.Count(string(text), "direct-action")
	}
	qdiscs, err := r.Gateway.Command(r.t.Context(), "tc", "qdisc", "show", "dev", ifname).Output()
	if err != nil {
		r.t.Fatal(err)
	}
	return count("filter", "show", "dev", ifname, "ingress"), count("filter", "show", "dev", ifname, "egress"), strings.Contains(string(qdiscs), "clsact")
}

// In a kernel without tcx everything works by filters of clsact, which somebody else may have made. They outlive a daemon that
// is killed, are taken over by the next, and go at its stop, and clsact with them where it is ours.
func TestKernelWithoutTCX(t *testing.T) {
	t.Parallel()
	options := defaultOffloads
	options.Hosts, options.Clients, options.Servers = 1, 1, 1
	r := newRealm(t, options)
	before := oddSettings(t, r.Gateway)
	r.command("gateway", "tc", "qdisc", "add", "dev", "eth1", "clsact")
	d := r.prepare(r.Gateway, r.ID(), r.configuration())
	d.old = true
	d.run()
	want := func(when string, eth0, eth1 [2]int, ours bool) {
		t.Helper()
		for name, want := range map[string][2]int{"eth0": eth0, "eth1": eth1} {
			if in, out, clsact := r.filters(name); [2]int{in, out} != want || clsact != (ours || name == "eth1") {
				t.Errorf("%s %s has %d filters for what comes and %d for what leaves, clsact %v", when, name, in, out, clsact)
			}
		}
	}
	for _, name := range []string{"eth0", "eth1"} {
		if got := d.interfaceOf(name); got != "clsact true" {
			t.Errorf("%s is %q", name, got)
		}
	}
	if said, err := d.tell("status"); err != nil || !strings.Contains(said, "this kernel has no tcx") {
		t.Errorf("status says: %v, %s", err, said)
	}
	want("at work", [2]int{1, 1}, [2]int{1, 0}, true)
	r.everything()
	host, server := r.Hosts()[0], r.Servers[0]
	d.kill()
	want("killed", [2]int{1, 1}, [2]int{1, 0}, true)
	r.bulk("without a daemon", host, server.IP, 8080)
	d.run()
	if !d.status().Adopted {
		t.Error("the data plane is not adopted")
	}
	want("adopted", [2]int{1, 1}, [2]int{1, 0}, true)
	r.mustReach(r.Clients[0], 0)
	d.kill()
	d.write(with(r.configuration(), "capacity: 50000")) // as one of another build: nothing fits
	d.run()
	want("begun anew", [2]int{1, 1}, [2]int{1, 0}, true)
	r.bulk("begun anew", host, server.IP, 8080)
	d.stop()
	want("stopped", [2]int{}, [2]int{}, false)
	wantGone(t, d, before)
}

// An interface that is not the gateway's any more keeps no filter.
func TestFilterOfAnInterfaceThatIsLeft(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1, PrivateInterfaces: 2})
	r.echoServers()
	before := oddSettings(t, r.Gateway)
	d := r.prepare(r.Gateway, r.ID(), r.configuration())
	d.old = true
	d.run()
	r.mustReach(r.Clients[0], 0)
	d.kill()
	d.write(with(r.configuration(), "interfaces: {public: [eth0], private: [eth1]}"))
	d.run()
	if names := strings.Join(attached(t, r.Gateway), " "); names != "eth0 eth1 rgfrag0p" {
		t.Errorf("programs are attached to %s", names)
	}
	if _, _, clsact := r.filters("eth2"); clsact {
		t.Error("clsact is left on eth2")
	}
	r.mustReach(r.Clients[0], 0)
	d.stop()
	wantGone(t, d, before)
}
