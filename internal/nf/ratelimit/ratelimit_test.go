package ratelimit

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/meter"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// Each way to count lets through what its section says. What a test takes is nothing beside an hour.
func TestLetsThroughSoMuch(t *testing.T) {
	t.Parallel()
	b, times := nftest.New(t), nftest.Times
	one := nftest.Packet("in udp 203.0.113.7:40000 > 10.0.0.1:53")
	again := nftest.Packet("in udp 203.0.113.7:40001 > 10.0.0.2:54")
	client := nftest.Packet("in udp 203.0.113.8:40000 > 10.0.0.1:53")
	port := nftest.Packet("in udp 203.0.113.8:40000 > 10.0.0.1:54")
	out := nftest.Packet("out udp 10.0.0.1:40000 > 203.0.113.9:53")
	further, answer := one, one
	further.Opens, answer.Opens, answer.Answers = 0, 0, 1
	for section, bursts := range map[string][]nftest.Burst{
		"{new: 5/h, burst: 3600s, entries: 1024}":                   {times(0, one, 3, 3), times(0, further, 9, 9), times(0, answer, 9, 9), times(0, again, 9, 2), times(0, client, 9, 5), times(time.Hour, one, 9, 5)},
		"{packets: 5/h, burst: 3600s, entries: 1024}":               {times(0, one, 1, 1), times(0, further, 1, 1), times(0, answer, 9, 3), times(0, again, 1, 0), times(0, client, 9, 5)},
		"{packets: 5/h, burst: 1800s, entries: 1024}":               {times(0, one, 9, 2)},
		"{bytes: 1B/s, burst: 2000s, entries: 1024}":                {times(0, one, 15, 15), times(0, answer, 9, 5), times(0, client, 30, 20)},
		"{packets: 5/h, burst: 3600s, per: host, entries: 1024}":    {times(0, one, 1, 1), times(0, port, 1, 1), times(0, out, 9, 3), times(0, again, 9, 5)},
		"{packets: 5/h, burst: 3600s, per: service, entries: 1024}": {times(0, one, 1, 1), times(0, client, 9, 4), times(0, port, 9, 5)},
	} {
		t.Run(section, func(t *testing.T) {
			b.T = t
			b.Bursts(nftest.Function(t, Kind, section, nil), bursts...)
		})
	}
}

// Where new sessions are counted it sees the first packet of a flow alone.
func TestSeesEveryPacketButOfNewSessions(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	for section, every := range map[string]bool{"{new: 5/s}": false, "{packets: 5/s}": true, "{bytes: 1MB/s}": true} {
		program := b.Only(nftest.Function(t, Kind, section, nil))
		if got := b.Ask(program, nftest.Packet("in udp 203.0.113.7:1 > 10.0.0.1:53")); (got.Packets != 0) != every {
			t.Errorf("%s: %+v", section, got)
		}
	}
}

// A source that finds no place cannot be judged, and is counted as that.
func TestTableIsBounded(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	program, _ := b.Metered(RateLimit{Meter: meter.Meter{Per: meter.PerSource, Unit: meter.Sessions, Rate: 1.0 / 3600, Burst: 2 * time.Hour, Entries: 4}})
	for source, want := range []nf.Verdict{nf.Accept, nf.Accept, nf.Accept, nf.Accept, nf.Drop} {
		p := nftest.Packet("in udp 203.0.113.7:1 > 10.0.0.1:53")
		p.Source += uint32(source)
		if got := b.Ask(program, p).Verdict; got != want {
			t.Errorf("source %d: %v, want %v", source, got, want)
		}
	}
	if n := b.Count(1).Failed; n != 1 {
		t.Errorf("%d failures, want 1", n)
	}
}

// What a section may not say; more that contradicts itself, the configuration has a file of.
func TestBadSections(t *testing.T) {
	t.Parallel()
	nftest.Refuses(t, Kind, map[string]string{
		"{}":                                    "give one of new, packets, bytes",
		"{new: 5/s, packets: 5/s, bytes: 1B/s}": "give one of new, packets, bytes",
		"{new: 5/h}":                            "at 5/h the bucket holds less than a packet: want at least 12m0.001s",
		"{new: 5/s, burst: 3601s}":              "want a duration of 1ms to 3600s",
		"{new: 5/s, entries: 1023}":             "want a whole number of 1024 to 4194304",
		"{new: 5/s, per: net}":                  "want source, host or service",
	})
}
