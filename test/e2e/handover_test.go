package e2e

import (
	"context"
	"encoding/binary"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// Who hands over has the next one in its place, of another build, in the same process and with all sessions.
func TestHandover(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	host, client := r.Hosts()[0], r.Clients[0]
	d := r.start(r.configuration())
	talk := r.converse(client, host, r.mustLend(client, "perf."+hostName(0)), 5201)
	established := func() (n int) {
		for _, s := range d.sessions("--protocol", "tcp") {
			if s.State == "established" {
				n++
			}
		}
		return n
	}
	eventually(t, 5*time.Second, "a connection", func() bool { return established() == 1 })
	d.setLayout(layoutBuild, func(was uint64) uint64 { return was + 1 })
	before, tables := d.status().Started, d.tables()
	if out, err := d.tell("handover"); err != nil || !strings.Contains(out, "has taken over") || !strings.Contains(out, "with 1 session") {
		t.Fatalf("%v: %s", err, out)
	}
	if d.status().Started.Equal(before) {
		t.Error("it says that the next one has taken over before it has")
	}
	if !d.status().Adopted || established() != 1 {
		t.Errorf("adopted %v, with %d of 1 session", d.status().Adopted, established())
	}
	if n := strings.Count(d.logged(), "msg=serving "); n != 2 {
		t.Errorf("it has begun to serve %d times in one process, and 2 are wanted", n)
	}
	if now := d.tables(); !maps.Equal(now, tables) {
		t.Errorf("the tables are %v, and were %v", now, tables)
	}
	if loaded := d.loaded(); loaded.After(d.status().Started) {
		t.Errorf("the kernel has verified programs at %s, when the next gateway had started at %s, and not before", loaded, d.status().Started)
	}
	if gap, err := talk(); err != nil || gap > 2*time.Second {
		t.Errorf("the connection: %v, it stood still for %s", err, gap)
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
	d.setLayout(layoutShape, func(was uint64) uint64 { return was + 1 })
	if out, err := check(); err == nil || !strings.Contains(out, "take over instance "+d.instance+": its tables are laid out otherwise: a restart with this version ends its sessions") {
		t.Errorf("another layout: %v, %s", err, out)
	}
}

// converse has one octet after another go to a host and back, until end is called: it tells the longest time between two.
func (r *realm) converse(from, host netns.Node, to netip.Addr, port uint16) (end func() (longest time.Duration, err error)) {
	r.t.Helper()
	listener, err := host.Listen("tcp4", netip.AddrPortFrom(host.IP, port).String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		if c, err := listener.Accept(); err == nil {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()
	c, err := from.DialFrom(r.t.Context(), "tcp4", netip.AddrPort{}, netip.AddrPortFrom(to, port).String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	var ends atomic.Bool
	var longest time.Duration
	over := make(chan error, 1)
	go func() {
		for !ends.Load() {
			_ = c.SetDeadline(time.Now().Add(20 * time.Second))
			begun := time.Now()
			if _, err := exchange(c, 1); err != nil {
				over <- err
				return
			}
			longest = max(longest, time.Since(begun))
		}
		over <- nil
	}()
	return func() (time.Duration, error) {
		ends.Store(true)
		err := <-over
		return longest, err
	}
}

// Where the next version cannot take over, nobody stops, and is told why.
func TestHandoverRefused(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	d := r.start(r.configuration())
	before := d.status().Started
	refused := func(want string) {
		t.Helper()
		out, err := d.tell("handover")
		if err == nil || !strings.Contains(out, "cannot take over, and this one goes on: ") || !strings.Contains(out, want) {
			t.Errorf("%v: %s", err, out)
		}
		if !d.status().Started.Equal(before) {
			t.Error("another gateway runs")
		}
		r.mustLend(r.Clients[0], hostName(0))
	}
	d.write("interfaces: none\n")
	refused(d.config + ":1: interfaces")
	d.write(r.configuration())
	d.setLayout(layoutShape, func(was uint64) uint64 { return was + 1 })
	refused("its tables are laid out otherwise: a restart with this version ends its sessions")
}

// Where struct layout has what it has, in octets.
const (
	layoutShape = 16
	layoutBuild = 32
)

// setLayout changes what the data plane says of itself.
func (d *daemon) setLayout(at int, change func(uint64) uint64) {
	d.t.Helper()
	layout, err := ebpf.LoadPinnedMap(filepath.Join(pins, d.instance, "layout_table"), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	defer layout.Close()
	raw, err := layout.LookupBytes(uint32(0))
	if err != nil {
		d.t.Fatal(err)
	}
	binary.NativeEndian.PutUint64(raw[at:], change(binary.NativeEndian.Uint64(raw[at:])))
	if err := layout.Put(uint32(0), raw); err != nil {
		d.t.Fatal(err)
	}
}

// tables are the pinned tables, by their names: which of the kernel's they are.
func (d *daemon) tables() map[string]ebpf.MapID {
	d.t.Helper()
	found := map[string]ebpf.MapID{}
	all, err := filepath.Glob(filepath.Join(pins, d.instance, "*"))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, path := range all {
		table, err := ebpf.LoadPinnedMap(path, nil)
		if err != nil {
			continue // a program or a link
		}
		info, err := table.Info()
		_ = table.Close()
		if err != nil {
			d.t.Fatal(err)
		}
		found[filepath.Base(path)], _ = info.ID()
	}
	if len(found) < 30 {
		d.t.Fatalf("%d tables are pinned", len(found))
	}
	return found
}

// loaded is when the kernel took the last of the programs that are at work.
func (d *daemon) loaded() (last time.Time) {
	d.t.Helper()
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		d.t.Fatal(err)
	}
	booted := time.Now().Add(-time.Duration(boot.Nano()))
	all, err := filepath.Glob(filepath.Join(pins, d.instance, "program_*"))
	if err != nil || len(all) == 0 {
		d.t.Fatalf("no program is pinned: %v", err)
	}
	for _, path := range all {
		program, err := ebpf.LoadPinnedProgram(path, nil)
		if err != nil {
			d.t.Fatal(err)
		}
		info, err := program.Info()
		_ = program.Close()
		if err != nil {
			d.t.Fatal(err)
		}
		since, _ := info.LoadTime()
		if at := booted.Add(since); at.After(last) {
			last = at
		}
	}
	return last
}
