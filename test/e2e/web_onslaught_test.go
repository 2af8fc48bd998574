package e2e

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// timed fetches a page of a host by name on a connection of its own, and says how long that took.
func timed(from netns.Node, host int) (time.Duration, error) {
	began := time.Now()
	c, err := visits(from, webRequest(host))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	_ = c.SetDeadline(began.Add(10 * time.Second))
	page, err := io.ReadAll(c)
	if err == nil && !strings.Contains(string(page), hostName(host)) {
		err = fmt.Errorf("the page is %q", page)
	}
	return time.Since(began), err
}

// fetches are so many in turn, none of which may fail; their median, and what 99 of 100 took at most.
func fetches(t *testing.T, from netns.Node, number int) (median, most time.Duration) {
	t.Helper()
	times := make([]time.Duration, number)
	for i := range times {
		var err error
		if times[i], err = timed(from, 0); err != nil {
			t.Errorf("fetch %d after %v: %v", i, times[i], err)
		}
	}
	slices.Sort(times)
	return times[number/2], times[number*99/100]
}

// memory is what the daemon has resident, in KiB.
func (d *daemon) memory() (kib int) {
	d.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.command.Process.Pid))
	if err != nil {
		d.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		d.t.Fatal(err)
	}
	return kib
}

// Floods of SYNs, and of data that nobody asked for, in anybody's name: honest clients go on, and nothing is kept of any.
func TestWebUnderFloods(t *testing.T) {
	const rate, each, number = 115_000, 20_000, 300 // of which the veth's ring loses a tenth
	anybody, at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{203}), 0), netip.AddrPortFrom(webAddress, 80)
	data := packets.NewTCP(anybody, at, packets.ACK|packets.PSH, webRequest(0))
	for _, mode := range []string{"tcx", "xdp"} {
		r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
		r.webServers()
		d := r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"]}",
			r.interfacesAt(mode)))
		r.receiveOffload("gateway", "eth0", true) // a veth without takes live frames at XDP alone
		quiet, quietMost := fetches(t, r.Clients[0], number)
		for name, packet := range map[string]packets.Packet{
			"answered_cookie": packets.NewTCP(anybody, at, packets.SYN, ""), "drop_cookie": data,
		} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				memory, busy, before, began := d.memory(), d.busy(), d.counted(model.Reason(name)), time.Now()
				sent, stop := r.liveFlood(rate, each, []packets.Packet{packet})
				eventually(t, time.Minute, "the flood stands", func() bool { return sent.Load() > 2*rate })
				median, most := fetches(t, r.Clients[0], number)
				lasted, count := time.Since(began), sent.Load()
				stop()
				s, came := d.status(), d.counted(model.Reason(name))-before
				t.Logf("%.0f packets a second, of which %.0f %% came; fetches: median %v, 99 of 100 %v; quiet %v, %v; the daemon took %.0f %% of a core, and %+d KiB",
					float64(count)/lasted.Seconds(), 100*float64(came)/float64(sent.Load()), median, most, quiet, quietMost,
					100*(d.busy()-busy).Seconds()/lasted.Seconds(), d.memory()-memory)
				if came < uint64(sent.Load())/2 { //nolint:gosec // not negative
					t.Errorf("%d of %d came", came, sent.Load())
				}
				if s.Web.Waiting > 100 || s.Sessions.Used > 8*number {
					t.Errorf("%d wait, %d sessions", s.Web.Waiting, s.Sessions.Used)
				}
				if grown := d.memory() - memory; grown > 16<<10 {
					t.Errorf("the daemon has %d KiB more", grown)
				}
			})
		}
	}
}
