package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/webload"
)

// The first has links as virtual machines and containers have them, and the second as small packets need them.
var (
	webNames = bench.Scenario{
		Name:    "web-names",
		About:   "sites behind one address, by the names in TLS hellos: connections, time to the first octet, downloads, a flood of SYNs",
		Devices: []string{"realmgate-tcx", "nginx", "haproxy", "splice", "realmgate-nat-tcx", "nftables", "route"},
		Modes:   []bench.Mode{bench.SelfClocked}, Sessions: webSessions, Repeat: 3,
		Run: func(ctx context.Context, b *bench.Bench) error { return runWeb(ctx, b, true) },
	}
	webNamesXDP = bench.Scenario{
		Name:    "web-names-xdp",
		About:   "the same at XDP, over links without aggregates",
		Devices: []string{"realmgate", "nginx", "haproxy", "splice", "realmgate-nat", "nftables", "route"},
		Modes:   []bench.Mode{bench.SelfClocked}, Sessions: webSessions, Repeat: 3,
		Run: func(ctx context.Context, b *bench.Bench) error { return runWeb(ctx, b, false) },
	}
)

const (
	webSessions = 200_000 // what tables are sized for: all connections of a trial, which are known for a while
	webHosts    = 2
	webParallel = 32
	webRate     = 500 // connections a second, whose time is taken
	webFlows    = 100
	webFlood    = 100_000 // SYNs a second
	webPatience = time.Second
	webLength   = 2 * time.Second // of each part of a trial
	webDownload = 1500 * time.Millisecond
	webShort    = 200 * time.Millisecond
	webGigabyte = 1e9
	webReadyIn  = 10 * time.Second
)

func runWeb(ctx context.Context, b *bench.Bench, offloads bool) error {
	// Links are as they are without the control, whose programs in drivers take aggregates from both their ends.
	b.Null, b.Report.Control = bench.Model{}, ""
	b.Note("nobody reads names in route, which forwards to the hosts' own addresses, nor in nftables and realmgate-nat, which lead an address to each host")
	b.Note("a connection is a hello of 1.5 KB in two segments, as crypto/tls says it, and a packet of an answer: of TLS there is no more. %d addresses ask, and two hosts answer", 64)
	b.Note("connections: %d at a time; first_byte: from when a connection was due, at %d/s, until the first octet; throughput and cpu: downloads by 1 and %d connections, "+
		"cpu of the whole machine with both ends; fetches_flooded and late_flooded: %d at a time beside %d forged SYNs a second, and those without an answer after %s; flood: "+
		"the SYNs that one CPU could send, with what becomes of each in devices that pass them on to the host",
		webParallel, webRate, webFlows, webParallel, webFlood, webPatience)
	warm := map[*bench.Bed]bool{} // after a short trial, that does not count
	b.Expect((b.Repeat + 1) * len(b.Devices))
	return b.Compare(ctx, bench.Comparison{
		Setup: bench.Setup{Sessions: webSessions, Timeout: natTimeout, Web: bench.Web{Hosts: webHosts, Offloads: offloads}},
		Alone: true,
		Measure: func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
			w := &webTrial{bed: bed, client: bed.WebClient(), length: webLength, download: webDownload, flooded: webLength + webPatience}
			if b.Smoke || !warm[bed] {
				w.length, w.download, w.flooded = webShort, webShort, webShort
			}
			warm[bed] = true
			return w.measure(ctx)
		},
	})
}

// webTrial is a trial of a device.
type webTrial struct {
	bed      *bench.Bed
	client   *webload.Client
	measures []bench.Measure

	length, download, flooded time.Duration // of its parts
}

func (w *webTrial) add(metric, unit string, value float64) {
	w.measures = append(w.measures, bench.Measure{Metric: metric, Unit: unit, Value: value})
}

// measure has the device alone run: others' daemons would look through their tables meanwhile.
func (w *webTrial) measure(ctx context.Context) (measures []bench.Measure, err error) {
	if p, ok := w.bed.DUT.Device.(bench.Pauser); ok {
		if err := p.Resume(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.Pause()) }()
	}
	if err := w.ready(ctx); err != nil {
		return nil, err
	}
	err = w.bed.Undisturbed(func() error {
		for _, part := range []func() error{w.connections, w.times, w.bulk, w.flood} {
			if err := errors.Join(part(), ctx.Err()); err != nil {
				return fmt.Errorf("%s: %w", w.bed.DUT.Name, err)
			}
		}
		return nil
	})
	return w.measures, errors.Join(err, w.bed.DUT.Reset(ctx))
}

// ready waits until pages come, which a daemon that was paused may refuse at first.
func (w *webTrial) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, webReadyIn)
	defer cancel()
	for {
		f, err := w.client.Fetch(webload.Plan{Parallel: 1, Length: 20 * time.Millisecond, Patience: webPatience})
		if err != nil || f.Done > 0 && f.Failed+f.Late == 0 {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s leads to no site: %+v", w.bed.DUT.Name, f)
		}
	}
}

// complete wants the right hosts to have answered, and all of what may not fail.
func (w *webTrial) complete(f webload.Fetches, may bool) {
	w.bed.Gates.Require("right host", f.Wrong == 0, "%d of %d connections were answered by another host", f.Wrong, f.Done)
	w.bed.Gates.Require("fetched", f.Done > 0 && (may || f.Late+f.Failed == 0), "%d fetched, %d late, %d failed", f.Done, f.Late, f.Failed)
}

func (w *webTrial) connections() error {
	f, err := w.client.Fetch(webload.Plan{Parallel: webParallel, Length: w.length, Patience: webPatience})
	w.complete(f, false)
	w.add("connections", bench.PerSecond, float64(f.Done)/w.length.Seconds())
	return err
}

func (w *webTrial) times() error {
	f, err := w.client.Fetch(webload.Plan{Rate: webRate, Length: w.length, Patience: webPatience})
	w.complete(f, false)
	w.add("first_byte_p50", "µs", 1e6*method.Quantile(f.Times, 0.5))
	w.add("first_byte_p99", "µs", 1e6*method.Quantile(f.Times, 0.99))
	return err
}

func (w *webTrial) bulk() error {
	for _, flows := range []int{1, webFlows} {
		d, err := w.client.Download(flows, w.download)
		if err != nil {
			return err
		}
		w.add(fmt.Sprintf("throughput_%d", flows), "Gbit/s", float64(d.Octets)*8/1e9/d.Took.Seconds())
		w.add(fmt.Sprintf("cpu_%d", flows), "s/GB", d.Busy.Seconds()/(float64(d.Octets)/webGigabyte))
	}
	return nil
}

func (w *webTrial) flood() error {
	flood, err := w.bed.FloodWeb(webFlood)
	if err != nil {
		return err
	}
	f, err := w.client.Fetch(webload.Plan{Parallel: webParallel, Length: w.flooded, Patience: webPatience})
	sent, failed := flood.Stop()
	w.complete(f, true)
	w.add("flood", bench.PerSecond, sent)
	w.add("fetches_flooded", bench.PerSecond, float64(f.Done)/w.flooded.Seconds())
	w.add("late_flooded", bench.PerSecond, float64(f.Late+f.Failed)/w.flooded.Seconds())
	return errors.Join(err, failed)
}
