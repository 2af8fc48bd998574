package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// halfHello is the first half of what crypto/tls says first to a site. The site's name is in it, and is not read before all of
// the hello has come.
func halfHello(t *testing.T, name string) string {
	t.Helper()
	near, far := net.Pipe()
	defer far.Close()
	go func() { _ = tls.Client(near, &tls.Config{ServerName: name}).Handshake() }() //nolint:gosec // fails when far is closed
	record := make([]byte, 16<<10)
	n, err := far.Read(record)
	if err != nil || !strings.Contains(string(record[:n/2]), name) {
		t.Fatalf("a hello of %d octets: %v", n, err)
	}
	return string(record[:n/2])
}

// crowd connects to the web address from so many addresses of each of so many /24 of 203.0.0.0/16, which lead to the node. Each
// says the text, and nothing more.
func (r *realm) crowd(at netns.Node, networks, each int, text string) (held []net.Conn) {
	r.t.Helper()
	err := at.Do(func() error {
		for i := range networks * each {
			from := netip.AddrFrom4([4]byte{203, 0, byte(i % networks), byte(1 + i/networks)}) //nolint:gosec // at most 254 of each
			dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), Timeout: 10 * time.Second}
			c, err := dialer.Dial("tcp4", webPlace.String())
			if err != nil {
				return err
			}
			held = append(held, c)
			if _, err := io.WriteString(c, text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatalf("connection %d: %v", len(held), err)
	}
	return held
}

// dismiss closes connections, and counts those that had been reset.
func dismiss(held []net.Conn) (reset int) {
	for _, c := range held {
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := c.Read(make([]byte, 1)); err != nil && strings.Contains(err.Error(), "reset") {
			reset++
		}
		_ = c.Close()
	}
	return reset
}

// middle is the median.
func middle(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

// halves is who says half a hello, and how many of them were told that they are late, who say no more then.
type halves struct {
	told  func() int
	leave func()
}

// Ten thousand sources of 40 networks say half a hello each, and no more: honest clients are served beside them, the daemon has
// room for all, and each is told when its time is over. What fetches take is logged beside quiet times, in turns: while the
// halves come again, 0.2, 0.6, 1.4, 3 and 6.2 s after the first time, and after that. The sources are strangers to each other,
// and in one round connections of one kernel, which are silent when they have heard that the halves have come.
func TestHalfHellosKeepNobodyAway(t *testing.T) {
	lab.LengthyOnly(t)
	const networks, each, number, rounds, mostGrown = 40, 250, 2000, 3, 64 << 10 // KiB
	const clients = networks * each
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.webServers()
	d := r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"], hello: 30s}"))
	honest, half := r.Clients[0], halfHello(t, "www."+strings.TrimSuffix(hostName(0), "."))
	fetches(t, honest, number)
	before, grown := d.memory(), 0
	waiting := func() int {
		grown = max(grown, d.memory()-before)
		return d.status().Web.Waiting
	}
	medians, mosts := map[string][]time.Duration{}, map[string][]time.Duration{}
	measure := func(when string) {
		median, most := fetches(t, honest, number)
		t.Logf("fetches %s: median %v, 99 of 100 %v", when, median, most)
		medians[when], mosts[when] = append(medians[when], median), append(mosts[when], most)
	}
	round := func(who string, come func() halves) {
		measure("quiet")
		late, began := d.counted("drop_name_late"), time.Now()
		h := come()
		eventually(t, 10*time.Second, fmt.Sprintf("%d wait", clients), func() bool { return waiting() >= clients })
		t.Logf("%d wait after %v", clients, time.Since(began))
		measure("while halves of " + who + " come again")
		eventually(t, 20*time.Second, "halves came again", func() bool { return time.Since(began) > 9*time.Second })
		measure("between")
		if n := waiting(); n != clients {
			t.Errorf("%d wait of %d when all was fetched, %v after the first came", n, clients, time.Since(began))
		}
		eventually(t, time.Minute, "nobody waits", func() bool { return waiting() == 0 })
		h.leave()
		if told, counted := h.told(), d.counted("drop_name_late")-late; told != clients || counted < clients {
			t.Errorf("%d of %d were told that they are late, %d were counted", told, clients, counted)
		}
	}
	for range rounds {
		round("strangers", func() halves {
			s := r.strangers(r.Clients[1], networks, each, half)
			told := func() int { return int(s.told.Load()) }
			return halves{told, func() {
				eventually(t, 10*time.Second, "all have heard", func() bool { return told() >= clients })
				s.leave()
			}}
		})
	}
	round("one kernel", func() halves {
		r.command("client2", "ip", "route", "add", "local", "203.0.0.0/16", "dev", "lo")
		held, told := r.crowd(r.Clients[1], networks, each, half), 0
		return halves{func() int { return told }, func() { told = dismiss(held) }}
	})
	t.Logf("the daemon had %d KiB more at most", grown)
	if grown > mostGrown {
		t.Errorf("the daemon has %d KiB more, which may be %d", grown, mostGrown)
	}
	quiet := middle(mosts["quiet"])
	for _, when := range slices.Sorted(maps.Keys(mosts)) {
		t.Logf("fetches %s, medians of %d rounds: median %v, 99 of 100 %v, which is %.2f times quiet",
			when, len(mosts[when]), middle(medians[when]), middle(mosts[when]), middle(mosts[when]).Seconds()/quiet.Seconds())
	}
}
