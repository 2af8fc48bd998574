package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

var tcpOffered = bench.Scenario{
	Name:    "tcp-offered",
	About:   "TCP connections opened at 5,000 to 50,000 a second: replies against requests, also by httperf and nginx (Kadlecsik and Pásztor)",
	Devices: []string{"route", "conntrack", "iptables", "nftables", "realmgate"},
	Modes:   pacedOnly, Sessions: 100_000, Repeat: 3,
	Run: runTCPOffered,
}

// skippedShare is a metric of devices whose NAT may skip packets.
const skippedShare = "untranslated"

func runTCPOffered(ctx context.Context, b *bench.Bench) error {
	b.Note("layer 1 is routing, 2 connection tracking, 3 tracking and a filter of ten rules, 4 NAT; replies are connections of ten packets whose answer came, "+
		"opened at a rate for %s whatever becomes of them: nothing is sent again", bench.Uninterrupted)
	b.Note("replies and packets are in a second in which the tester had its CPU, for which it waits a sixteenth of a trial at most")
	if slices.ContainsFunc(b.Devices, func(m bench.Model) bool { return m.PassesInvalid }) {
		b.Note("%s is the share of the packets that came untranslated, since netfilter's NAT skips what conntrack finds INVALID, as an ACK in SYN_SENT, "+
			"and of answers that so came from another port: packets leaves them out; with one such packet a trial of any other device is invalid", skippedShare)
	}
	rates := points(b, []float64{5e3}, []float64{5e3, 10e3, 20e3, 30e3, 40e3, 50e3}, []float64{5e3, 10e3, 15e3, 20e3, 25e3, 30e3, 35e3, 40e3, 45e3, 50e3})
	nat := natComparison(b)
	var list []bench.Comparison
	trials := 0
	for _, l := range layersOf(nat.Setup) {
		devices := slices.DeleteFunc(slices.Clone(b.Devices), func(m bench.Model) bool { return !l.devices(m.Name) })
		for _, rate := range rates {
			if len(devices) == 0 {
				continue
			}
			c := nat
			c.Devices, c.Setup, c.Parameters = devices, l.setup, map[string]float64{"layer": l.number, "offered": rate}
			c.Flows, _ = bench.FlowsFor(min(b.Sessions, offeredAt(rate)), 1)
			c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
				return measureReplies(ctx, bed, rate)
			}
			list = append(list, c)
			trials += len(devices) + 1
		}
	}
	b.Expect((b.Repeat + 1) * (trials + len(rates)*(len(b.Devices)+1)))
	if err := b.Sweep(ctx, list); err != nil {
		return err
	}
	return offerHTTP(ctx, b, nat, rates)
}

// offeredAt is how many sessions are opened at a rate in a trial.
func offeredAt(rate float64) int { return int(rate * bench.Uninterrupted.Seconds()) }

func measureReplies(ctx context.Context, bed *bench.Bed, rate float64) ([]bench.Measure, error) {
	came, err := bed.Sessions.OfferTCP(ctx, tcpWindow, rate)
	if err != nil {
		return nil, err
	}
	measures := []bench.Measure{
		{Metric: "replies", Unit: "sessions/s", Value: came.Replies},
		{Metric: "packets", Unit: "packets/s", Value: came.Packets},
	}
	if bed.DUT.SkipsNAT() {
		measures = append(measures, bench.Measure{Metric: skippedShare, Unit: "%", Value: came.Skipped})
	}
	return measures, bed.DUT.Reset(ctx)
}

// offerHTTP does it with a client and a server of their own, as the authors did: httperf,
// and nginx for boa. What the client does not open is its own fault.
func offerHTTP(ctx context.Context, b *bench.Bench, nat bench.Comparison, rates []float64) error {
	for _, tool := range []string{"httperf", "nginx"} {
		if _, err := exec.LookPath(tool); err != nil {
			b.Note("replies_http are left out: %s is not installed (Debian: apt install httperf nginx-light)", tool)
			return nil
		}
	}
	b.Note("replies_http are of nginx to httperf, a connection each: both ends and the device share the CPUs, and a rate at which the client opens less is invalid. "+
		"Rates that are over %g of what it opened at best in the round for warming up are left out", mostBeyond)
	client := &httpClient{trials: map[float64]int{}, devices: len(b.Devices) + 1}
	var list []bench.Comparison
	for _, rate := range rates {
		c := nat
		c.Setup.Sessions, c.Parameters = pageSessions, map[string]float64{"offered": rate}
		c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
			return client.measure(ctx, b, bed, rate)
		}
		list = append(list, c)
	}
	return b.Sweep(ctx, list)
}

// httpClient knows how many connections a second httperf has opened at best.
type httpClient struct {
	best    float64
	trials  map[float64]int // at each rate
	devices int
}

// mostBeyond is how far over its best the client is asked again, after the round for warming up.
const mostBeyond = 1.2

// beyond reports whether a rate, at which each device has had a trial, is more than the client can open.
func (c *httpClient) beyond(rate float64) bool {
	return c.trials[rate] >= c.devices && rate > mostBeyond*c.best
}

func (c *httpClient) measure(ctx context.Context, b *bench.Bench, bed *bench.Bed, rate float64) (measures []bench.Measure, err error) {
	if !b.Smoke && c.beyond(rate) {
		return nil, nil
	}
	if err := bed.Rig.Hosts(); err != nil {
		return nil, err
	}
	stop, err := serve(ctx, bed.Rig)
	if err != nil {
		return nil, err
	}
	defer func() {
		if failed := stop(); err == nil {
			err = failed
		}
	}()
	within, cancel := context.WithTimeout(ctx, bench.Uninterrupted+endWithin)
	defer cancel()
	httperf := bed.Rig.Inside.Command(within, "httperf", "--hog", "--server", bench.PublicNextHop.String(), "--port", strconv.Itoa(pageServer), "--uri", "/",
		"--rate", strconv.Itoa(int(rate)), "--num-conns", strconv.Itoa(offeredAt(rate)), "--timeout", "1")
	r, err := ask(within, httperf.CombinedOutput)
	if err != nil {
		return nil, fmt.Errorf("httperf through %s: %w", bed.DUT.Name, errors.Join(err, ctx.Err()))
	}
	c.trials[rate]++
	c.best = max(c.best, r.opened)
	bed.Gates.Require("pages", r.late || r.replies > 0, "no reply came")
	bed.Gates.Require("client", !r.late && (b.Smoke || r.opened >= leastOpened*rate && r.unable == 0), "%s", r.opening(rate))
	return []bench.Measure{{Metric: "replies_http", Unit: "sessions/s", Value: r.replies}}, bed.DUT.Reset(ctx)
}

// endWithin is how much longer than it opens connections httperf may take: it waits a second
// for the last answer.
const endWithin = 2 * time.Second

// leastOpened is which share of a rate the client must have opened.
const leastOpened = 0.98

// httperfReport is what is taken from its output.
type httperfReport struct {
	opened, replies float64 // per second
	unable          int     // connections that the client itself could not open
	late            bool    // it took too long
}

// opening tells how connections were opened.
func (r httperfReport) opening(rate float64) string {
	if r.late {
		return fmt.Sprintf("httperf, which was to open %.0f connections a second for %s, was not done after %s more", rate, bench.Uninterrupted, endWithin)
	}
	return fmt.Sprintf("%.0f connections a second opened, %.0f asked; %d not for want of files or ports", r.opened, rate, r.unable)
}

// ask runs httperf, which may be late: at more connections than it can open it goes on.
func ask(ctx context.Context, httperf func() ([]byte, error)) (httperfReport, error) {
	out, err := httperf()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return httperfReport{late: true}, nil
	}
	if err != nil {
		return httperfReport{}, fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return parseHTTPerf(string(out))
}

var (
	httperfTotal  = regexp.MustCompile(`Total: connections (\d+) requests \d+ replies (\d+) test-duration ([\d.]+) s`)
	httperfOpened = regexp.MustCompile(`Connection rate: ([\d.]+) conn/s`)
	httperfUnable = regexp.MustCompile(`fd-unavail (\d+) addrunavail (\d+) ftab-full (\d+)`)
)

func parseHTTPerf(out string) (r httperfReport, err error) {
	total, opened, unable := httperfTotal.FindStringSubmatch(out), httperfOpened.FindStringSubmatch(out), httperfUnable.FindStringSubmatch(out)
	if total == nil || opened == nil || unable == nil {
		return r, fmt.Errorf("httperf printed no totals: %s", strings.TrimSpace(out))
	}
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return math.NaN() // which no gate lets pass
		}
		return v
	}
	r.opened, r.replies = number(opened[1]), number(total[2])/number(total[3])
	for _, text := range unable[1:] {
		r.unable += int(number(text))
	}
	return r, nil
}
