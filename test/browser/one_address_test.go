package browser

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// surfer is a browser that visits pages of a farm's sites, each by all ways in turn.
type surfer struct {
	who  string // "Chromium ..." or "Firefox ..."
	http string // the only version of HTTP that it speaks by TLS: "HTTP/1.1", "HTTP/2.0" or "HTTP/3.0"; "Alt-Svc": what it is told of
}

// surfing is a farm, and who visits it.
type surfing struct {
	sites   int
	page    int   // sites whose resources a page has; each round has the next ones
	pauses  []int // seconds between the rounds
	surfers []surfer
	crowded int // times that a browser by QUIC has all sites in one page; others once
	quic    int // requests that the hosts see of it at least
}

// Three sites behind one address. After each pause the servers have closed the connections. After the last one, names that
// browsers keep from the pool would be another's; those of the web are good for as long as their TTL says.
func TestSitesBehindOneAddress(t *testing.T) {
	t.Parallel()
	surf(t, surfing{sites: 3, page: 3, pauses: []int{6, 6, 6, 6, 6, 6, 6, 6, 90}, surfers: surfers})
}

// The same with 300 sites, 60 of them in a page, and at the end all of them in one, or as many as the browser can.
func TestHundredsOfSitesBehindOneAddress(t *testing.T) {
	lab.LengthyOnly(t)
	surf(t, surfing{sites: 300, page: 60, pauses: []int{6, 6, 6, 6}, surfers: surfers, crowded: 3, quic: 1000})
}

var surfers = []surfer{
	{"Chromium HTTP/2", "HTTP/2.0"}, {"Firefox HTTP/2", "HTTP/2.0"},
	{"Chromium HTTP/1.1", "HTTP/1.1"}, {"Firefox HTTP/1.1", "HTTP/1.1"},
	{"Chromium QUIC", "HTTP/3.0"},
}

// start starts the surfer's browser on a machine of its own.
func (s surfer) start(f *farm, m *machine) (tab, error) {
	if err := f.certificates.trust(m); err != nil {
		return nil, err
	}
	if kind(s.who) == "Firefox" {
		// It leaves HTTP/3 alone where it trusts authorities that are not among those of its makers.
		m.preferences = fmt.Sprintf("user_pref(\"network.http.http2.enabled\", %t);\nuser_pref(\"network.http.http3.disable_when_third_party_roots_found\", false);\n", s.http != "HTTP/1.1")
		return newFirefox(m, false)
	}
	switch s.http {
	case "HTTP/1.1":
		m.flags = []string{"--disable-http2"}
	case "HTTP/3.0":
		m.flags = []string{"--enable-quic", f.forcesQUIC(443, s.ways()...)}
	case "Alt-Svc":
		m.flags = []string{"--enable-quic", f.forcesQUIC(444, byGateway)}
	}
	return newChromium(m, false)
}

// forcesQUIC has Chromium ask all sites by QUIC alone at a port. At all other ports of theirs it believes the test's authority by
// QUIC, too, as it does by QUIC of its makers' authorities alone.
func (f *farm) forcesQUIC(port int, ways ...string) string {
	var origins []string
	for i := range f.count {
		for _, way := range ways {
			origins = append(origins, fmt.Sprintf("%s:%d", siteOf(i, way), port))
		}
	}
	return "--origin-to-force-quic-on=" + strings.Join(origins, ",")
}

// ways are those that the surfer can take: ssl_preread knows no QUIC.
func (s surfer) ways() []string {
	if s.http == "HTTP/3.0" {
		return []string{byGateway, byRouting}
	}
	return []string{byGateway, byRouting, byPreread}
}

// most is how many sites a page may have. Chromium keeps 256 connections to all servers; where a page needs more by HTTP/2, it
// fails requests of its own (ERR_SOCKET_NOT_CONNECTED), by plain routing, too.
func (s surfer) most() int {
	if s.who == "Chromium HTTP/2" {
		return 240
	}
	return 1000
}

// serversClose is longer than servers keep idle connections.
const serversClose = 6 * time.Second

// surf lays a farm and lets browsers and others visit it. It fails unless all of them reach the right hosts in time, the hosts
// see the clients' own addresses, and hellos are as large as those of today's browsers.
func surf(t *testing.T, s surfing) {
	t.Helper()
	n := len(s.surfers)
	f := newFarm(newWorld(t, farmOptions(n+2)), s.sites, siteHabits{}, sitesAddress)
	browsers, preread := &tally{}, &tally{}
	addresses := f.addressAnswers()
	var others, quic tally
	var running, crowds sync.WaitGroup
	var turn sync.Mutex
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	crowds.Go(func() { crowd(ctx, f.RemoteClients[n], f.sites(), othersRate, f.certificates.pool(), &others) })
	crowds.Go(func() { f.quicCrowd(ctx, f.RemoteClients[n+1], &quic) })
	for i, v := range s.surfers {
		browser, err := v.start(f, f.newMachine(f.RemoteClients[i], unboundIP))
		if err != nil {
			t.Errorf("%s: %v", v.who, err)
			continue
		}
		// Its first visit loads what it needs for the rest: not while the next one starts.
		f.visit(browser, v.who, "before", byRouting, 0, s.page, &tally{}, &tally{})
		running.Go(func() { f.rounds(browser, v, s, addresses, &turn, browsers, preread) })
	}
	running.Wait()
	cancel()
	crowds.Wait()
	others.report(t, "others by HTTP/1.1", false)
	quic.report(t, "others by QUIC", false)
	preread.report(t, "browsers by ssl_preread", true)
	f.compare(s.surfers, browsers, preread)
	f.judgeHosts(s)
	status, err := f.status()
	f.must(err)
	if addresses.Load() < int64(s.sites) {
		t.Errorf("the resolver was told of %d addresses: as many as there are sites should be", addresses.Load())
	}
	t.Logf("the gateway was asked %d times, for addresses %d times; connections: %+v; packets by what became of them: %s",
		status.DNS.Queries, addresses.Load(), *status.Web, f.dropped())
	browsers.report(t, "browsers", false)
}

// rounds visits a page by each way, one way after the other, and again after each pause. One browser has its turn after the
// other, as what they take is compared.
func (f *farm) rounds(t tab, v surfer, s surfing, addresses *atomic.Int64, turn *sync.Mutex, browsers, preread *tally) {
	what, ways := "at first", v.ways()
	for round := 0; ; round++ {
		turn.Lock()
		for i := range ways {
			f.visit(t, v.who, what, ways[(round+i)%len(ways)], round*s.page, s.page, browsers, preread)
		}
		turn.Unlock()
		if round == len(s.pauses) {
			break
		}
		pause := time.Duration(s.pauses[round]) * time.Second
		what = "after " + pause.String()
		told := addresses.Load()
		time.Sleep(pause)
		if now := addresses.Load(); pause >= time.Minute && now != told {
			f.t.Errorf("%s: the gateway was asked for addresses %d times, which are cached", what, now-told)
		}
	}
	if s.page < s.sites {
		// Chromium loses what it asks for while hundreds of connections close, whoever is behind them; and so do five browsers
		// that all have two CPUs.
		sites := min(s.sites, v.most())
		turn.Lock()
		defer turn.Unlock()
		times := 1
		if v.http == "HTTP/3.0" {
			times = s.crowded
		}
		for range times {
			for _, way := range ways {
				time.Sleep(serversClose)
				f.visit(t, v.who, "all sites", way, 0, sites, browsers, preread)
			}
		}
	}
}

// visit visits a page of so many sites by a way, and notes what came of it.
func (f *farm) visit(t tab, who, what, way string, first, n int, browsers, preread *tally) {
	origins := f.origins(first, n, way)
	o := look(t, pageURL("", origins), origins[0].host, max(resources, n))
	o.who, o.what = who, what
	switch way {
	case byGateway:
		browsers.add(o)
	case byRouting:
		browsers.addDirect(o)
		preread.addDirect(o)
	case byPreread:
		preread.add(o)
		if what == "all sites" {
			// Firefox takes up to three times as much CPU for hundreds of HTTP/2 sites at one address, whoever forwards them.
			browsers.addDirect(o)
		}
	}
}

// quicCrowd is others who fetch by HTTP/3, twice a second, until the context ends.
func (f *farm) quicCrowd(ctx context.Context, from netns.Node, all *tally) {
	tick := time.NewTicker(time.Second / 2)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		site, port := i%f.count, uint16(20000+i) // #nosec G115 -- a test of minutes
		fetch := func(way string, at netip.Addr) func() (string, error) {
			return func() (string, error) {
				return fetchQUIC(from, port, at, siteOf(site, way), "/", f.certificates.pool(), nil)
			}
		}
		judge(all, "quic", siteOf(site, byGateway), farmHost(site, byGateway),
			fetch(byGateway, sitesAddress), fetch(byRouting, f.Servers[site%farmHosts].IP))
	}
}

// compare logs the medians of how long pages took, browser by browser and way by way.
func (f *farm) compare(all []surfer, browsers, preread *tally) {
	for _, s := range all {
		line := fmt.Sprintf("%s, median (least–greatest) of page loads in ms:", s.who)
		for _, way := range []struct {
			name   string
			visits []outcome
		}{
			{"the gateway", browsers.visits}, {"direct routing", browsers.directs[kind(s.who)]}, {"ssl_preread", preread.visits},
		} {
			var loads []time.Duration
			for _, o := range way.visits {
				if o.who == s.who && !o.failed && o.what != "all sites" {
					loads = append(loads, o.loaded)
				}
			}
			if len(loads) == 0 {
				continue
			}
			slices.Sort(loads)
			line += fmt.Sprintf(" %s %d (%d–%d) of %d", way.name, loads[len(loads)/2].Milliseconds(), loads[0].Milliseconds(),
				loads[len(loads)-1].Milliseconds(), len(loads))
		}
		f.t.Log(line)
	}
}

// judgeHosts wants the hosts to have seen nobody but the clients, each browser with its version of HTTP and with a post-quantum
// hello, which is larger than a frame.
func (f *farm) judgeHosts(s surfing) {
	f.t.Helper()
	var clients []netip.Addr
	for _, c := range f.RemoteClients {
		clients = append(clients, c.IP)
	}
	requests := map[string]int{}
	for _, host := range f.inside {
		if others := host.strangers(clients); len(others) > 0 {
			f.t.Errorf("%s saw %v, who are no clients", host.host, others)
		}
		for n, v := range s.surfers {
			protocols, classical := host.saw(clients[n])
			if len(protocols) != 1 || protocols[v.http] == 0 || classical > 0 {
				f.t.Errorf("%s saw of %s %v, %d without X25519MLKEM768", host.host, v.who, protocols, classical)
			}
			requests[v.who] += protocols[v.http]
		}
	}
	f.t.Logf("requests that the hosts saw: %v", requests)
	for _, v := range s.surfers {
		if v.http == "HTTP/3.0" && requests[v.who] < s.quic {
			f.t.Errorf("%s: %d requests, want %d at least", v.who, requests[v.who], s.quic)
		}
	}
}
