package e2e

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// With a pool of 65,536 addresses, a million sessions and 100,000 names asked, a page has 2,000 series at most; and who scrapes
// it each second takes nothing from those who open sessions and ask for names, in one round at least. Times are told.
func TestScrapedWithAMillionSessions(t *testing.T) {
	lab.LengthyOnly(t)
	const standing, more, names, rounds, scrapes = 1_000_000, 100_000, 100_000, 5, 21
	r := newRealm(t, netns.Options{Hosts: 1})
	d := r.start(strings.Replace(with(r.configuration(), "capacity: 2500000", "limits: {host_sessions: 0, host_rate: 0}"),
		"addresses: ["+r.Gateway.Pool.String(), "addresses: [100.64.0.0/16", 1))
	host := r.Hosts()[0]
	t.Logf("a million sessions stand after %s", r.opens(d, host, 203, standing))
	t.Logf("%d names asked within %s", names, r.asksFor(host, names))
	var took []time.Duration
	for range scrapes {
		began := time.Now()
		d.metrics()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	page := d.scrape()
	series := len(page)
	if free, sessions := page[`realmgate_pool_addresses{state="free"}`], page["realmgate_sessions"]; free < 65000 || sessions < standing {
		t.Errorf("%v addresses are free, and %v sessions stand", free, sessions)
	}
	t.Logf("%d series; a scrape takes %s, median of %d, %s at most", series, took[scrapes/2], scrapes, took[scrapes-1])
	if series > 2000 {
		t.Errorf("%d series", series)
	}
	var opened, asked [2][]time.Duration // without and with
	net := byte(204)
	for n := range 2 * rounds {
		scraped := (n + n/2) % 2 // who is first is so by turns
		stop := func() {}
		if scraped == 1 {
			stop = d.scrapedEachSecond()
		}
		opened[scraped] = append(opened[scraped], r.opens(d, host, net, more))
		asked[scraped] = append(asked[scraped], r.asksFor(host, names/5))
		stop()
		net++
	}
	for what, times := range map[string][2][]time.Duration{fmt.Sprint(more, " sessions open"): opened, fmt.Sprint(names/5, " names are answered"): asked} {
		t.Logf("%s within %s; scraped each second, within %s", what, times[0], times[1])
		if slices.Min(times[1]) > slices.Max(times[0]) {
			t.Errorf("%s: each round that was scraped was slower than all others", what)
		}
	}
}

// asksFor asks the private name server for as many names of the zone, all different, from a host, and returns how long it took.
func (r *realm) asksFor(host netns.Node, names int) time.Duration {
	r.t.Helper()
	const askers = 8
	var asked atomic.Int64
	var running sync.WaitGroup
	began := time.Now()
	for range askers {
		running.Go(func() {
			c, err := host.DialFrom(r.t.Context(), "udp4", netip.AddrPort{}, r.Gateway.PrivateAddress.String()+":53")
			if err != nil {
				r.t.Error(err)
				return
			}
			defer c.Close()
			client := dns.Client{Timeout: 5 * time.Second}
			for n := asked.Add(1); n <= int64(names); n = asked.Add(1) {
				question := new(dns.Msg).SetQuestion(fmt.Sprintf("n%d.foo.example.", n), dns.TypeA)
				if _, _, err := client.ExchangeWithConn(question, &dns.Conn{Conn: c}); err != nil {
					r.t.Errorf("name %d: %v", n, err)
					return
				}
			}
		})
	}
	running.Wait()
	return time.Since(began)
}

// scrapedEachSecond scrapes until it is told to stop.
func (d *daemon) scrapedEachSecond() (stop func()) {
	end := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			d.metrics()
			select {
			case <-end:
				return
			case <-tick.C:
			}
		}
	})
	return func() { close(end); running.Wait() }
}
