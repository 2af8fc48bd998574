package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// kea runs a program of Kea in the gateway's namespace, with a configuration.
func (r *realm) kea(program, configuration string) *netns.Command {
	r.t.Helper()
	file := filepath.Join(r.directory, program+".json")
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		r.t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(r.directory, program+".log"))
	if err != nil {
		r.t.Fatal(err)
	}
	server := r.Gateway.Command(context.Background(), "env", "KEA_PIDFILE_DIR="+r.directory, "KEA_LOCKFILE_DIR=none", program, "-c", file)
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && r.t.Failed() {
			r.t.Logf("%s says:\n%s", program, text)
		}
	})
	return server
}

// keaLeases has Kea's DHCP server lease addresses of the private network for so long, and returns its file, which it cleans up
// every second.
func (r *realm) keaLeases(lasts time.Duration, more string) (file string) {
	r.t.Helper()
	file = filepath.Join(r.directory, "kea-leases4.csv")
	seconds := int(lasts / time.Second)
	r.kea("kea-dhcp4", fmt.Sprintf(`{"Dhcp4": {
		"interfaces-config": {"interfaces": ["eth1"]},
		"lease-database": {"type": "memfile", "name": %q, "lfc-interval": 1},
		"expired-leases-processing": {"reclaim-timer-wait-time": 1, "flush-reclaimed-timer-wait-time": 1, "hold-reclaimed-time": 1},
		"valid-lifetime": %d, "renew-timer": %d, "rebind-timer": %d,
		"subnet4": [{"subnet": "10.0.0.0/16", "pools": [{"pool": "10.0.0.200-10.0.0.220"}], "option-data": [{"name": "routers", "data": "10.0.0.1"}]}]%s,
		"loggers": [{"name": "kea-dhcp4", "output_options": [{"output": "stdout"}], "severity": "INFO"}]
	}}`, file, seconds, seconds/2, seconds*3/4, more))
	eventually(r.t, 10*time.Second, "Kea listens", func() bool { return listens(netns.Node{Namespace: r.Gateway.Namespace}, 67) == nil })
	return file
}

// A lease of a real Kea does what one of dnsmasq does. It outlives Kea's cleanup, which takes it out of the file that is being
// written, and it ends by itself, too.
func TestKeaLease(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 3, RemoteClients: 1})
	file := r.keaLeases(12*time.Second, "")
	d := r.start(with(r.configuration(), dynamicHosts("kea: "+file)))
	laptop := r.lease(r.Hosts()[1], "laptop", "the laptop")
	r.soonReaches("laptop.foo.example.", "the laptop")
	cleaned := func() bool {
		now, err := os.ReadFile(file)
		past, pastErr := os.ReadFile(file + ".2")
		return err == nil && pastErr == nil && !strings.Contains(string(now), laptop.IP.String()) && strings.Contains(string(past), laptop.IP.String())
	}
	eventually(t, 15*time.Second, "Kea has cleaned up", cleaned)
	for began := time.Now(); time.Since(began) < 3*time.Second; { // it does so again each second
		if !r.reaches("laptop.foo.example.", "the laptop") {
			t.Fatal("the cleanup has ended the host")
		}
	}
	laptop.release()
	r.soonGone("laptop.foo.example.")

	phone := r.lease(r.Hosts()[2], "phone", "the phone")
	r.soonReaches("phone.foo.example.", "the phone")
	_ = phone.client.Process.Kill() // it says nothing any more
	_ = phone.client.Wait()
	phone.client = nil
	var ends time.Time
	for _, h := range list[[]client.Host](d, "hosts") {
		if h.Name == "phone.foo.example." {
			ends = h.Ends
		}
	}
	if left := time.Until(ends); left < 0 || left > 12*time.Second {
		t.Fatalf("its lease is said to end in %s", left)
	}
	for time.Now().Before(ends.Add(-time.Second)) {
		if !r.reaches("phone.foo.example.", "the phone") {
			t.Fatalf("it is gone %s before its lease ends", time.Until(ends))
		}
	}
	<-time.After(time.Until(ends))
	r.soonGone("phone.foo.example.")
}
