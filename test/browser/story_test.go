package browser

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

const (
	othersRate = 4 // visits a second that others make meanwhile
	// A program that resolves once connects so often, for five minutes.
	onceTimes  = 75
	oncePeriod = 4 * time.Second
)

// fullSites are names on three hosts that serve http and https: three of each,
// and three whose certificates are their own.
var fullSites = []site{
	{"a.foo.example.", 0, []int{80}}, {"b.foo.example.", 1, []int{80}}, {"c.foo.example.", 2, []int{80}},
	{"d.foo.example.", 0, []int{443}}, {"e.foo.example.", 1, []int{443}}, {"f.foo.example.", 2, []int{443}},
	{"g.foo.example.", 0, []int{443}}, {"h.foo.example.", 1, []int{443}}, {"i.foo.example.", 2, []int{443}},
}

// splitSites are hosts of which the first and the third serve http only, and the
// second https only.
var splitSites = []site{
	{"s.foo.example.", 0, []int{80}}, {"t.foo.example.", 1, []int{443}}, {"u.foo.example.", 2, []int{80}},
}

// bothSites are names that stand for http and https.
var bothSites = []site{
	{"j.foo.example.", 0, []int{80, 443}}, {"k.foo.example.", 1, []int{80, 443}}, {"l.foo.example.", 2, []int{80, 443}},
}

var ownCertificates = []string{"g.foo.example", "h.foo.example", "i.foo.example"}

// page sets: three origins, of which the first has the page.
var (
	plain    = []origin{{"http://a.foo.example", "host1"}, {"http://b.foo.example", "host2"}, {"http://c.foo.example", "host3"}}
	wildcard = []origin{{"https://d.foo.example", "host1"}, {"https://e.foo.example", "host2"}, {"https://f.foo.example", "host3"}}
	owned    = []origin{{"https://g.foo.example", "host1"}, {"https://h.foo.example", "host2"}, {"https://i.foo.example", "host3"}}
	both     = []origin{{"https://j.foo.example", "host1"}, {"https://k.foo.example", "host2"}, {"https://l.foo.example", "host3"}}
	split    = []origin{{"http://s.foo.example", "host1"}, {"https://t.foo.example", "host2"}, {"http://u.foo.example", "host3"}}
)

// The story: three gateways with pools of four addresses, visitors whose pauses
// run side by side, others at four visits a second, and programs that resolve
// once. It takes eight minutes.
func TestStory(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes eight minutes")
	}
	t.Run("http and https", func(t *testing.T) {
		t.Parallel()
		play(t, scene{pool: 4, sites: fullSites, once: true, visitors: []visitor{
			{who: "Chromium http", origins: plain, pauses: []int{125, 110, 90}},
			{who: "Firefox wildcard", origins: wildcard, pauses: []int{125, 110, 90}},
			{who: "Chromium wildcard", origins: wildcard, pauses: []int{2, 10, 30, 58, 70}},
			{who: "Firefox http", origins: plain, pauses: []int{2, 10, 30, 58, 70}},
			{who: "Chromium own certificates", origins: owned, pauses: []int{300}},
			{who: "Firefox own certificates", origins: owned, pauses: []int{10, 300}},
		}})
	})
	t.Run("http and https of one name with upgrades", func(t *testing.T) {
		t.Parallel()
		play(t, scene{pool: 4, sites: bothSites, visitors: []visitor{
			{who: "Chromium both", at: "http://j.foo.example", origins: both, upgrade: true, pauses: []int{10, 58, 125}},
			{who: "Firefox both", at: "http://j.foo.example", origins: both, upgrade: true, pauses: []int{10, 58, 125}},
		}})
	})
	t.Run("http beside https with upgrades", func(t *testing.T) {
		t.Parallel()
		play(t, scene{pool: 4, sites: splitSites, visitors: []visitor{
			{who: "Chromium upgrades", origins: split, upgrade: true, pauses: []int{10, 30, 58, 70, 90}},
			{who: "Firefox upgrades", origins: split, upgrade: true, pauses: []int{10, 30, 58, 70, 90}},
		}})
	})
}

// scene is a gateway with three hosts, and who visits them.
type scene struct {
	pool     int // addresses
	sites    []site
	visitors []visitor
	once     bool // with programs that resolve once
	scarce   bool // there are more names than addresses: only a wrong host is a failure
}

// play lays a realm, starts the gateway and lets visitors, others and programs
// visit it. It fails unless all of them reach the right hosts in time.
func play(t *testing.T, s scene) {
	t.Helper()
	n := len(s.visitors)
	w := newWorld(t, netns.Options{Hosts: 3, Servers: 1, Resolver: true, RemoteClients: n + 3})
	certificates := newGateway(w, s.pool, s.sites, ownCertificates...)
	var browsers, others, programs tally
	var running, crowds sync.WaitGroup
	ctx, cancel := context.WithCancel(background)
	crowds.Go(func() { crowd(ctx, w.RemoteClients[n], s.sites, othersRate, certificates.pool(), &others) })
	if s.once {
		running.Go(func() {
			resolveOnce(w.RemoteClients[n+1], s.sites[0], onceTimes, oncePeriod, certificates.pool(), &programs)
		})
		m := w.newMachine(w.RemoteClients[n+2], unboundIP)
		running.Go(func() {
			if err := resolveOnceJava(m, s.sites[0], onceTimes, oncePeriod, &programs); err != nil {
				t.Error(err)
			}
		})
	}
	for i, v := range s.visitors {
		browser, err := v.prepare(w.newMachine(w.RemoteClients[i], unboundIP), certificates)
		if err != nil {
			t.Errorf("%s: %v", v.who, err)
			continue
		}
		// Its first visit loads what it needs for the rest: not while the next one starts.
		v.visitDirect(browser, &browsers)
		running.Go(func() { v.visit(browser, &browsers) })
	}
	running.Wait()
	cancel()
	crowds.Wait()
	others.report(t, "others", s.scarce)
	if s.once {
		programs.report(t, "programs that resolve once", s.scarce)
	}
	if exhausted, refused := w.refusals(); s.scarce {
		t.Logf("questions: %d without an address, %d refused", exhausted, refused)
		if exhausted == 0 {
			t.Error("questions without an address are not counted")
		}
	}
	t.Logf("packets by what became of them: %s", w.dropped())
	browsers.report(t, "browsers", s.scarce)
}
