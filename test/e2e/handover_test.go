package e2e

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// A gateway that hands over ends well, its sessions go on without it, and the next one has them all.
func TestHandover(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	host, client := r.Hosts()[0], r.Clients[0]
	iperfServer(t, host, 5201)
	d := r.start(r.configuration())
	to := r.mustLend(client, "perf."+hostName(0))
	type result struct {
		transfer
		error
	}
	over := make(chan result, 1)
	go func() {
		done, err := iperf(client, to, 5201, "-t", "5", "-b", "40M")
		over <- result{done, err}
	}()
	established := func() (n int) {
		for _, s := range d.sessions("--protocol", "tcp") {
			if s.State == "established" {
				n++
			}
		}
		return n
	}
	eventually(t, 5*time.Second, "two connections", func() bool { return established() == 2 })
	if out, err := d.tell("handover"); err != nil || !strings.Contains(out, "leaves 2 sessions at work") {
		t.Fatalf("%v: %s", err, out)
	}
	if err := d.command.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	d.command = nil
	d.run()
	if !d.status().Adopted || established() != 2 {
		t.Errorf("adopted %v, with %d of 2 sessions", d.status().Adopted, established())
	}
	if len(over) > 0 {
		t.Error("the transfer was over before the next gateway served: the test shows nothing")
	}
	if done := <-over; done.error != nil || done.stall() > 2*time.Second {
		t.Errorf("%v, stood still for %s", done.error, done.stall())
	}
	d.stop()
	if _, err := os.Stat(pins + "/" + d.instance); err == nil {
		t.Error("a stop after it leaves pins")
	}
}

// Whether the next version can take over is said before, by that one.
func TestUpgradeIsCheckedBefore(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1})
	d := r.prepare(r.Gateway, r.ID(), r.configuration())
	check := func() (string, error) {
		out, err := r.Gateway.Command(context.Background(), program, "check", "-c", d.config, "--upgrade", "--instance", d.instance).CombinedOutput()
		return string(out), err
	}
	if out, err := check(); err != nil {
		t.Errorf("before there is one: %v, %s", err, out)
	}
	d.run()
	if out, err := check(); err != nil {
		t.Errorf("the same version: %v, %s", err, out)
	}
	layout, err := ebpf.LoadPinnedMap(filepath.Join(pins, d.instance, "layout_table"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer layout.Close()
	raw, err := layout.LookupBytes(uint32(0))
	if err != nil {
		t.Fatal(err)
	}
	const shape = 16 // octets: where struct layout has it
	binary.NativeEndian.PutUint64(raw[shape:], 1+binary.NativeEndian.Uint64(raw[shape:]))
	if err := layout.Put(uint32(0), raw); err != nil {
		t.Fatal(err)
	}
	if out, err := check(); err == nil || !strings.Contains(out, "take over instance "+d.instance+": its tables are laid out otherwise: a restart with this version ends its sessions") {
		t.Errorf("another layout: %v, %s", err, out)
	}
}
