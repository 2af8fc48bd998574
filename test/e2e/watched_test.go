package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/lab"
)

const (
	watchedClaim    = 1.05    // times what a packet takes while nobody looks, which is to be shown
	watchedMost     = 1.25    // at more than that something is wrong
	watchedStanding = 100_000 // sessions
	watchedOpened   = 20_000  // in a second
	watchedParts    = 50      // of these
	watchedPackets  = 50_000  // of sessions that stand, at once
)

// While Prometheus scrapes each second, the page is open, the NAT log writes a file and somebody follows all sessions and drops, new
// sessions and packets of open ones take hardly longer than while nobody looks. Both in turns, on one gateway.
func TestWatchedCostsLittle(t *testing.T) {
	lab.LengthyOnly(t)
	const pairs = 30
	w := newWatched(t)
	var plain, watched watchedTurn
	w.turn(&watchedTurn{}, w.look) // what is new to the caches
	for n := range 2 * pairs {
		if (n+n/2)%2 == 1 { // who is first is so by turns
			w.turn(&watched, w.look)
		} else {
			w.turn(&plain, func() func() { return func() {} })
		}
	}
	for _, row := range []struct {
		what           string
		plain, watched []float64
	}{
		{"a new session", plain.opened, watched.opened},
		{"a packet from inside", plain.out, watched.out},
		{"a packet from outside", plain.in, watched.in},
	} {
		ratios := make([]float64, pairs)
		for i := range ratios {
			ratios[i] = row.watched[i] / row.plain[i]
		}
		least, most := interval(ratios)
		verdict := "holds"
		if most > watchedClaim {
			verdict = "is open"
		}
		if least > watchedClaim {
			verdict = "is wrong"
		}
		if least > watchedMost {
			t.Errorf("%s takes at least %.3f times as long", row.what, least)
		}
		t.Logf("%s: %.0f ns, watched %.0f; ratio of %d pairs %.3f (95 %% %.3f–%.3f): that it is %.2f at most %s", row.what, median(row.plain), median(row.watched), pairs,
			median(ratios), least, most, watchedClaim, verdict)
	}
	t.Logf("the daemon, of a CPU, at %.0f new sessions a second: %.1f %%, watched %.1f %%; else %.1f %%, watched %.1f %%", median(watched.rate),
		100*median(plain.opening), 100*median(watched.opening), 100*median(plain.idle), 100*median(watched.idle))
}

// watched is a gateway whose packets are timed.
type watched struct {
	*realm
	d              *daemon
	plain, logging string // configurations
	opens, out, in *trial
}

// watchedTurn is what was measured in each turn, of packets the median of its parts: what else has the CPUs falls into some.
type watchedTurn struct {
	opened, out, in []float64 // ns
	opening, idle   []float64 // of a CPU, the daemon
	rate            []float64 // new sessions a second
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	r := newRealm(t, netns.Options{Hosts: 1})
	var outbound []string
	for i := range byte(8) {
		outbound = append(outbound, netip.AddrFrom4([4]byte{100, 64, 0, i}).String())
	}
	plain := with(r.configuration(), r.interfacesAt("xdp"), "capacity: 500000", "limits: {host_sessions: 0, host_rate: 0}", "outbound: {addresses: ["+strings.Join(outbound, ", ")+"]}")
	folder := filepath.Join(r.directory, "nat")
	r.must(os.Mkdir(folder, 0o700))
	w := &watched{realm: r, plain: plain, logging: with(plain, fmt.Sprintf("log: {sinks: [{name: disk, directory: %q}]}", folder)), d: r.start(plain)}
	host, privately, publicly := r.Hosts()[0], r.Gateway.Private[0], r.Gateway.Public[0]
	inside, err := host.MAC("eth0")
	r.must(err)
	outside, err := r.Router.MAC("public0")
	r.must(err)
	r.command("gateway", "ip", "neighbour", "replace", host.IP.String(), "lladdr", inside.String(), "dev", privately, "nud", "permanent")
	r.command("gateway", "ip", "neighbour", "replace", "198.18.0.254", "lladdr", outside.String(), "dev", publicly, "nud", "permanent")
	r.command("gateway", "ip", "route", "add", "10.128.0.0/9", "via", host.IP.String())
	some := netip.AddrPortFrom(host.IP, 1)
	udp, syn := packets.NewUDP(some, some, "eighteen octets...").Between(packets.MAC(inside), r.gatewayMAC(privately)), packets.NewTCP(some, some, packets.SYN, "").Between(packets.MAC(inside), r.gatewayMAC(privately))
	w.opens = r.trial(privately, syn, 60*watchedOpened, watchedFlow)
	w.out = r.trial(privately, udp, watchedStanding, watchedFlow)
	w.out.run(watchedStanding)
	open := list[[]client.Session](w.d, "sessions", "--protocol", "udp")
	if len(open) != watchedStanding {
		t.Fatalf("%d sessions are open", len(open))
	}
	rand.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
	w.in = r.trial(publicly, udp.Between(packets.MAC(outside), r.gatewayMAC(publicly)), watchedStanding, func(i int) (source, destination netip.AddrPort) {
		return open[i].Remote, open[i].External
	})
	return w
}

// watchedFlow is the flow with that number. Each has a host's port of its own, and a remote address: the worst case.
func watchedFlow(i int) (source, destination netip.AddrPort) {
	var remote [4]byte
	binary.BigEndian.PutUint32(remote[:], uint32(i)*2654435761>>8|64<<24) //nolint:gosec // any will do
	host := netip.AddrFrom4([4]byte{10, 128, byte(i >> 8), byte(i)})
	return netip.AddrPortFrom(host, uint16(1024+i%65536%61+61*(i>>16))), netip.AddrPortFrom(netip.AddrFrom4(remote), 443) //nolint:gosec // they are few
}

// turn measures once. look has everybody look, and returns how to end that.
func (w *watched) turn(to *watchedTurn, look func() (stop func())) {
	w.t.Helper()
	stop := look()
	defer stop()
	time.Sleep(time.Second / 2)
	for _, m := range []*trial{w.out, w.in} { // under the configuration in force
		m.run(watchedStanding)
	}
	opened, rate, used := []float64{}, time.Now(), w.processor()
	for range watchedParts {
		began := time.Now()
		opened = append(opened, w.opens.run(watchedOpened/watchedParts))
		time.Sleep(time.Second/watchedParts - time.Since(began))
	}
	took := time.Since(rate)
	to.opened, to.rate = append(to.opened, median(opened)), append(to.rate, watchedOpened/took.Seconds())
	time.Sleep(time.Second / 10) // and the daemon has looked
	to.opening = append(to.opening, (w.processor()-used).Seconds()/took.Seconds())
	began, used, out, in := time.Now(), w.processor(), []float64{}, []float64{}
	for time.Since(began) < 2*time.Second {
		out, in = append(out, w.out.run(watchedPackets)), append(in, w.in.run(watchedPackets))
	}
	to.idle = append(to.idle, (w.processor()-used).Seconds()/time.Since(began).Seconds())
	to.out, to.in = append(to.out, median(out)), append(to.in, median(in))
	stop()
	if out, err := w.d.tell("sessions", "end", "--protocol", "tcp"); err != nil {
		w.t.Fatal(out)
	}
}

// look has all that an operator can have look at the gateway do so, until that is ended.
func (w *watched) look() (stop func()) {
	w.t.Helper()
	w.d.write(w.logging)
	w.reload()
	eventually(w.t, time.Minute, "what stands is written down", func() bool { return w.d.number(`realmgate_log_queued{sink="disk"}`) == 0 })
	page, follower := w.reads("bans,events,names,pool,status"), w.reads("drops,sessions")
	scraped := w.d.scrapedEachSecond()
	return sync.OnceFunc(func() {
		scraped()
		page()
		heard := follower()
		eventually(w.t, time.Minute, "all is written down", func() bool { return w.d.number(`realmgate_log_queued{sink="disk"}`) == 0 })
		lost, delivered := w.d.number(`realmgate_log_lost_total{sink="disk"}`), w.d.number(`realmgate_log_delivered_total{sink="disk"}`)
		if lost > 0 || delivered < watchedOpened {
			w.t.Errorf("%d records are lost, %d are written", lost, delivered)
		}
		if heard < 100*watchedOpened {
			w.t.Errorf("who follows sessions heard %d octets", heard)
		}
		w.d.write(w.plain)
		w.reload()
	})
}

func (w *watched) reload() {
	w.t.Helper()
	if out, err := w.d.tell("reload"); err != nil {
		w.t.Fatal(out)
	}
}

// reads has somebody read a stream; stop ends that, and says how many octets came.
func (w *watched) reads(topics string) (stop func() int64) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://realmgate/v1/stream?topics="+topics, http.NoBody)
	w.must(err)
	response, err := w.d.caller().http.Do(request)
	if err != nil || response.StatusCode != http.StatusOK {
		w.t.Fatalf("%+v, %v", response, err)
	}
	octets := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, response.Body)
		octets <- n
	}()
	return func() int64 {
		cancel()
		defer response.Body.Close()
		return <-octets
	}
}

func (w *watched) processor() time.Duration { return processorTime(w.t, w.d.command.Process.Pid) }

func median(values []float64) float64 { return method.Quantile(values, 0.5) }

// interval has the true median of what values are drawn from in 95 of 100 cases: by the bootstrap.
func interval(values []float64) (least, most float64) {
	const draws = 10_000
	medians, drawn := make([]float64, draws), make([]float64, len(values))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range medians {
		for k := range drawn {
			drawn[k] = values[random.IntN(len(values))]
		}
		medians[i] = median(drawn)
	}
	slices.Sort(medians)
	return medians[draws/40], medians[draws-draws/40]
}
