package e2e

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// open is the configuration with an address that leads to the first host's echo service,
// with and without a daemon.
func (r *realm) open() (configuration string, at netip.AddrPort) {
	address := r.Gateway.Pool.Addr().Prev() // nobody's
	return r.configuration() + "chains:\n" + dnatTo("echo", "to: "+address.String(), r.Hosts()[0].IP.String()), echoAddress(address)
}

// answers reports whether a flow of its own reaches the first host within half a second.
func (r *realm) answers(from netns.Node, at netip.AddrPort) bool {
	r.t.Helper()
	c, err := from.DialContext(r.t.Context(), "udp4", at.String())
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write([]byte("x"))
	_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	_, err = c.Read(make([]byte, 100))
	return err == nil
}

// TestGeofenceDefect5_SpoofedPacketBansNobody: whatever somebody sends with another's
// address, to the honeypot and elsewhere, the other is not banned and goes on; who sends
// it is as soon as it completes a handshake itself.
func TestGeofenceDefect5_SpoofedPacketBansNobody(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.echoServers()
	victim, attacker := r.Clients[0], r.Clients[1]
	d := r.start(r.configuration() + r.guideFrom("protection", "honeypot.md"))
	talk, pool := r.conversation(victim, 0), r.mustLend(attacker, "echo."+hostName(0))
	frames, err := attacker.Frames("eth0")
	if err != nil {
		t.Fatal(err)
	}
	defer frames.Close()
	own, err := attacker.MAC("eth0")
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := r.Gateway.MAC("eth0")
	if err != nil {
		t.Fatal(err)
	}
	sends := func(p packets.Packet) {
		t.Helper()
		var err error
		eventually(t, 10*time.Second, "there is room to send", func() bool {
			err = frames.Send(p.Between(packets.MAC(own), packets.MAC(gateway)).Bytes())
			return !errors.Is(err, syscall.ENOBUFS)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	random := func() uint16 { return uint16(1024 + rand.IntN(64000)) } //nolint:gosec // a test's choice
	for range 200 {
		for _, a := range []netip.Addr{r.Gateway.PublicAddress, pool, r.Gateway.Outbound} {
			from, to := netip.AddrPortFrom(victim.IP, random()), netip.AddrPortFrom(a, 23)
			sends(packets.NewTCP(from, to, packets.SYN, ""))
			sends(packets.NewTCP(from, to, packets.ACK, "").Change(func(p *packets.Packet) {
				p.TCP.Sequence, p.TCP.Acknowledge = rand.Uint32(), rand.Uint32() //nolint:gosec // as above
			}))
			sends(packets.NewTCP(from, to, packets.RST, ""))
			sends(packets.NewUDP(from, netip.AddrPortFrom(a, 1900), "x"))
			sends(packets.NewUDP(from, netip.AddrPortFrom(a, random()), "x"))
			sends(packets.NewEcho(victim.IP, a, random(), 1))
		}
	}
	eventually(t, 20*time.Second, "the honeypot has seen it", func() bool { return d.counted("answered_honeypot") > 0 && d.counted("drop_honeypot") >= 600 })
	if err := connects(attacker, netip.AddrPortFrom(pool, 23)); err != nil {
		t.Fatal(err)
	}
	journal{daemon: d}.mustBecomeBanned(attacker.IP) // bans are made in order
	if bans := list[[]client.Ban](d, "ban", "list"); len(bans) != 1 {
		t.Errorf("banned are %+v", bans)
	}
	if _, err := echoOn(talk); err != nil {
		t.Error("what the victim has open does not go on")
	}
}

// TestGeofenceDefect6_SavedBansHoldFromTheFirstPacket: after a kill, and the loss of the
// data plane as by a restart of the machine, not one packet of the banned passes, who
// sends them all the time.
func TestGeofenceDefect6_SavedBansHoldFromTheFirstPacket(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.echoServers()
	banned, other := r.Clients[0], r.Clients[1]
	configuration, at := r.open()
	d := r.start(configuration)
	if !r.answers(banned, at) {
		t.Fatal("nobody is answered: the test shows nothing")
	}
	if out, err := d.tell("ban", "add", banned.IP.String(), "--for", "1h"); err != nil {
		t.Fatal(out)
	}
	c, err := banned.DialContext(t.Context(), "udp4", at.String())
	if err != nil {
		t.Fatal(err)
	}
	var sent, answered atomic.Int64
	var running sync.WaitGroup
	running.Go(func() {
		for buffer := make([]byte, 100); ; {
			if _, err := c.Write([]byte("x")); err == nil {
				sent.Add(1)
			} else if errors.Is(err, net.ErrClosed) {
				return
			}
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := c.Read(buffer); err == nil {
				answered.Add(1)
			}
		}
	})
	for _, lost := range []bool{false, true} {
		d.kill()
		if lost {
			if err := os.RemoveAll(filepath.Join(pins, d.instance)); err != nil {
				t.Fatal(err)
			}
			eventually(t, 10*time.Second, "the data plane is gone", func() bool { return len(attached(t, r.Gateway)) == 0 })
		}
		before := sent.Load()
		d.run()
		if d.status().Adopted == lost {
			t.Errorf("the data plane was lost: %t, and adopted: %t", lost, !lost)
		}
		eventually(t, 20*time.Second, "others are answered", func() bool { return r.answers(other, at) })
		eventually(t, 20*time.Second, "packets of the banned are dropped", func() bool { return d.counted("drop_banned") > 100 })
		if sent.Load() < before+100 {
			t.Errorf("%d packets while the daemon started: the test shows nothing", sent.Load()-before)
		}
	}
	_ = c.Close()
	running.Wait()
	if n := answered.Load(); n > 0 {
		t.Errorf("%d packets of the banned passed", n)
	}
}

// TestGeofenceDefect7_BansEndOnTime: the kernel itself ends a ban, while the daemon stands
// still, and not before its time.
func TestGeofenceDefect7_BansEndOnTime(t *testing.T) {
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.echoServers()
	configuration, at := r.open()
	d := r.start(configuration)
	for i, from := range r.Clients[:2] {
		if out, err := d.tell("ban", "add", from.IP.String(), "--for", []string{"5s", "1h"}[i]); err != nil {
			t.Fatal(out)
		}
	}
	ban, found := journal{daemon: d}.banned(r.Clients[0].IP)
	if !found {
		t.Fatal("nobody is banned")
	}
	d.standsStill(func() {
		eventually(t, 30*time.Second, "the kernel ends the ban", func() bool { return r.answers(r.Clients[0], at) })
		if early := time.Until(ban.Until); early > 0 {
			t.Errorf("it ended %s before its time", early)
		}
		if r.answers(r.Clients[1], at) {
			t.Error("a ban of an hour ended, too")
		}
	})
	eventually(t, 20*time.Second, "the daemon knows", func() bool { return len(list[[]client.Ban](d, "ban", "list")) == 1 })
}

// standsStill stops the daemon's process while f runs.
func (d *daemon) standsStill(f func()) {
	d.t.Helper()
	if err := d.command.Process.Signal(syscall.SIGSTOP); err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = d.command.Process.Signal(syscall.SIGCONT) }()
	f()
}

// TestGeofenceDefect9_NothingWaitsForAThread: with a daemon that stands still, and so reads
// no queue, each new flow is judged: those of the blocked are dropped and all others pass.
func TestGeofenceDefect9_NothingWaitsForAThread(t *testing.T) {
	t.Parallel()
	const flows = 300
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.echoServers()
	configuration, at := r.open()
	blocked, other := r.Clients[0], r.Clients[1]
	d := r.start(configuration + "protection: {blocklist: [" + blocked.IP.String() + "], honeypot: {tcp: [23]}}\n")
	before := d.counted("drop_denied")
	c, err := blocked.DialContext(t.Context(), "udp4", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	d.standsStill(func() {
		d.sends(c)
		for n := range flows {
			if who, err := echo(other, netip.AddrPort{}, at); err != nil || who != hostName(0) {
				t.Fatalf("flow %d: %q, %v", n, who, err)
			}
		}
	})
	if !d.refused(c, "drop_denied", before) {
		t.Error("who is blocked is answered")
	}
}
