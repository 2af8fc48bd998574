package dosdenial

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/meter"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

const syn, ack = 0x02, 0x10

// tcp is a segment with flags.
func tcp(line string, flags uint8) nf.Packet {
	p := nftest.Packet(line)
	p.TcpFlags = flags
	return p
}

// Each mode drops what its section says, and nothing else. What a test takes is nothing beside an hour.
func TestDropsWhatComesTooFast(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	b, times := nftest.New(t), nftest.Times
	one := nftest.Packet("in udp 203.0.113.7:40000 > 10.0.0.1:53")
	again := nftest.Packet("in udp 203.0.113.7:40001 > 10.0.0.1:53")
	other := nftest.Packet("in udp 203.0.113.8:40000 > 10.0.0.1:53")
	aggregate := one
	aggregate.Segments = 4
	opens, another := tcp("in tcp 203.0.113.7:1 > 10.0.0.1:80", syn), tcp("in tcp 203.0.113.7:2 > 10.0.0.1:80", syn)
	proves, answers := tcp("in tcp 203.0.113.7:1 > 10.0.0.1:80", ack), tcp("in tcp 203.0.113.7:1 > 10.0.0.1:80", syn|ack)
	others := tcp("in tcp 203.0.113.8:1 > 10.0.0.1:80", syn)
	for section, bursts := range map[string][]nftest.Burst{
		// The packet that begins a window is not counted in it. What is dropped counts.
		"{threshold: 5/h, window: 3600s, entries: 1024}": {
			times(0, one, 6, 6), times(hour, one, 7, 7), times(hour, one, 7, 0), times(0, again, 7, 7), times(hour, one, 6, 0), times(hour, one, 1, 1),
		},
		"{threshold: 5/h, window: 3600s, per: source, entries: 1024}":                    {times(0, one, 7, 7), times(hour, again, 7, 0), times(0, other, 1, 1)},
		"{threshold: 5/h, mode: token-bucket, burst: 3600s, entries: 1024}":              {times(0, one, 10, 5), times(0, again, 10, 5), times(hour, one, 10, 5)},
		"{threshold: 5/h, mode: token-bucket, burst: 3600s, per: source, entries: 1024}": {times(0, one, 10, 5), times(0, again, 10, 0), times(0, other, 10, 5)},
		"{threshold: 1B/s, mode: token-bucket, burst: 2000s, entries: 1024}":             {times(0, one, 30, 20)},
		"{threshold: 8bit, mode: token-bucket, burst: 2000s, entries: 1024}":             {times(0, one, 30, 20)},
		"{threshold: 5/h, mode: token-bucket, burst: 3600s, per: flow, entries: 1024}":   {times(0, aggregate, 3, 2), times(0, one, 1, 0)},
		"{threshold: 5/h, mode: syn-rate, burst: 3600s, per: flow, entries: 1024}":       {times(0, opens, 10, 5), times(0, another, 10, 5)},
		"{threshold: 5/h, mode: syn-rate, burst: 3600s, entries: 1024}": {
			times(0, opens, 3, 3), times(0, proves, 10, 10), times(0, answers, 10, 10), times(0, one, 10, 10), times(0, another, 10, 2), times(0, others, 10, 5),
		},
	} {
		t.Run(section, func(t *testing.T) {
			b.T = t
			b.Bursts(nftest.Function(t, Kind, section, nil), bursts...)
		})
	}
}

// It sees every packet of a flow.
func TestSeesEveryPacket(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	program := b.Only(nftest.Function(t, Kind, "{threshold: 5/h}", nil))
	if got := b.Ask(program, nftest.Packet("in udp 203.0.113.7:1 > 10.0.0.1:53")); got.Packets == 0 {
		t.Errorf("%+v: nobody sees the flow's further packets", got)
	}
}

// What finds no place cannot be judged, and is counted as that.
func TestTableIsBounded(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	for name, m := range map[string]meter.Meter{
		"a window": {Per: meter.PerSource, Rate: 1, Window: time.Hour, Entries: 4}, "a bucket": {Per: meter.PerSource, Rate: 1.0 / 3600, Burst: 2 * time.Hour, Entries: 4},
	} {
		program, _ := b.Metered(DoSDenial{Meter: m})
		before := b.Count(1).Failed
		for source, want := range []nf.Verdict{nf.Accept, nf.Accept, nf.Accept, nf.Accept, nf.Drop} {
			p := nftest.Packet("in udp 203.0.113.7:1 > 10.0.0.1:53")
			p.Source += uint32(source)
			if got := b.Ask(program, p).Verdict; got != want {
				t.Errorf("%s: source %d: %v, want %v", name, source, got, want)
			}
		}
		if n := b.Count(1).Failed - before; n != 1 {
			t.Errorf("%s: %d failures, want 1", name, n)
		}
	}
}

// What a section may not say; what contradicts itself, the configuration has a file of.
func TestBadSections(t *testing.T) {
	t.Parallel()
	nftest.Refuses(t, Kind, map[string]string{
		"{threshold: 5/h, mode: bucket}":                        "want window, token-bucket or syn-rate",
		"{threshold: 5/h, window: 99ms}":                        "want a duration of 100ms to 3600s",
		"{threshold: 5/h, window: 3601s}":                       "want a duration of 100ms to 3600s",
		"{threshold: 5/s, mode: token-bucket, burst: 999us}":    "want a duration of 1ms to 3600s",
		"{threshold: 5/h, mode: token-bucket}":                  "at 5/h the bucket holds less than a packet: want at least 12m0.001s",
		"{threshold: 1kB/s, mode: token-bucket, burst: 1499ms}": "at 1kB/s the bucket holds less than a packet",
		"{threshold: 5/h, entries: 1023}":                       "want a whole number of 1024 to 4194304",
		"{threshold: 5/h, entries: 4194305}":                    "want a whole number of 1024 to 4194304",
	})
}
